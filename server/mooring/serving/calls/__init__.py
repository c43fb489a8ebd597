"""What every gRPC call passes on its way in and out: its request, its place, threads, errors."""
