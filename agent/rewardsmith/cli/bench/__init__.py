"""`rewardsmith bench`: what methods, rankings and evaluators are worth, measured here."""

import typer

from rewardsmith.cli.bench import evaluator, methods, ranking

app = typer.Typer(
    help="Measure methods, rankings and evaluators; every command goes on where it was.",
    no_args_is_help=True,
)
app.command("methods", epilog=methods.EPILOG)(methods.methods)
app.command("ranking", epilog=ranking.EPILOG)(ranking.ranking)
app.command("evaluator", epilog=evaluator.EPILOG)(evaluator.evaluator)
