"""Plugins judged before they run: are they pure, are their answers right, and what do they cost?"""
