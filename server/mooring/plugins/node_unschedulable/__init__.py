"""NodeUnschedulable: keeps pods off cordoned nodes."""
