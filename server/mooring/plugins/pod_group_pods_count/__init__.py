"""PodGroupPodsCount: the placement that takes the most pods of a group."""
