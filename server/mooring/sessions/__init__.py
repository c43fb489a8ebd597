"""What would happen if: versions of the cluster that never were, and questions about them."""
