"""Builders and fakes for tests, public: authors of plugins test as mooring does."""
