"""The parts that every gRPC call passes: its request, admission, threads, errors."""
