"""The command line. ``main.py`` is where it starts; a command's module is loaded when it is asked for."""
