"""The composition root: makes servers, schedulers and offline engines from their parts."""
