"""The command `rewardsmith`, also as `python -m rewardsmith`."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from rewardsmith.cli.app import run_app

    run_app()


if __name__ == "__main__":
    main()
