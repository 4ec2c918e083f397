"""Checks the rules that hold of a sound store, and repairs what can be. The app calls this for ``doctor``."""
