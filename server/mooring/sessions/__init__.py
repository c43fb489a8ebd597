"""What-if questions: hypothetical versions of the cluster, and questions about them."""
