"""The command line as `python -m unveil`."""

from unveil.cli import main

if __name__ == "__main__":
    main()
