"""What every call passes on its way in and out: its request, access, admission, threads, errors."""
