"""The contract suite of the clients, in the format of clients/contract: cases, a scripted server, a judge."""
