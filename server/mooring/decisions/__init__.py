"""The decisions that this process made: remembered, summarised, and made again."""
