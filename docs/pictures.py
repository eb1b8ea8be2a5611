"""Draw the pictures of the tutorial, from a run of the recipe quick: `make pictures`."""

import io
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).with_name("images")
ROOT = FOLDER.parents[1]
WIDTH = 1300  # pixels of a picture
COLUMNS = 110  # of the terminal
COLOURS = 200
SETTLE_MS = 15_000  # until MLflow has loaded all that it shows
TEXT = "I was charged twice for one order"
MLFLOW = (
    "mlflow server --backend-store-uri sqlite:///mlruns/mlflow.db --workers 1 "
    "--artifacts-destination mlruns/artifacts"
)


def main(folder: Path) -> None:
    """Run the pipeline in a clone in `folder`, and draw the pictures into docs/images."""
    clone = folder / "plumbline"
    printed = run_pipeline(clone)
    with sync_playwright() as playwright:
        chromium = which("chromium") or which("chromium-browser") or which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        draw_terminal(browser, printed)
        draw_report(browser, clone)
        draw_mlflow(browser, clone)
        draw_serving(browser, clone)
        browser.close()


def run_pipeline(clone: Path) -> str:
    """Clone the last commit, run the recipe quick there, and return what it printed."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    (clone / ".venv").symlink_to(ROOT / ".venv")
    command = ["make", "--no-print-directory", "--old-file=.venv/ready", "run", "RECIPE=quick"]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    return subprocess.check_output(
        command, cwd=clone, env=environment, stderr=subprocess.STDOUT, text=True
    )


def open_page(browser: Browser, height: int, scale: float = 1.3) -> Page:
    """Open a page whose picture is WIDTH pixels wide; all on it is drawn `scale` times larger."""
    size = {"width": round(WIDTH / scale), "height": round(height / scale)}
    page = browser.new_page(viewport=size, device_scale_factor=scale)  # type: ignore[arg-type]
    page.set_default_timeout(0)  # a busy machine may take long
    return page


def save(page: Page, name: str) -> None:
    """Write what can be seen of a page into docs/images."""
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    page.close()
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    sys.stdout.write(f"{path}: {path.stat().st_size // 1000} kB\n")


def draw_terminal(browser: Browser, printed: str) -> None:
    """Draw what a run printed."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ make run RECIPE=quick\n{printed.rstrip()}"))
    drawing = re.sub("@font-face {.*?}", "", console.export_svg(title=""), flags=re.DOTALL)
    page = open_page(browser, 900, 1)
    page.set_content(f"<body style='margin:0'>{drawing}</body>")
    page.set_viewport_size(
        {"width": WIDTH, "height": round(page.locator("svg").bounding_box()["height"])}
    )
    save(page, "terminal")


def draw_report(browser: Browser, clone: Path) -> None:
    """Draw the report, with one gate opened."""
    page = open_page(browser, 1420)
    page.goto((clone / "reports/report.html").as_uri())
    page.locator("summary", has_text="baselines").first.click()
    save(page, "report")


def draw_mlflow(browser: Browser, clone: Path) -> None:
    """Draw the registered version as MLflow shows it."""
    with serve(clone, MLFLOW) as address:
        page = open_page(browser, 840, 1)
        page.goto(f"{address}/#/models/ticket-router/versions/1")
        page.get_by_text("champion").first.wait_for()
        page.get_by_role("button", name="Close").last.click()  # of MLflow's assistant
        page.wait_for_timeout(SETTLE_MS)
        save(page, "mlflow")


def draw_serving(browser: Browser, clone: Path) -> None:
    """Draw the page of a server on which a model can be tried."""
    with serve(clone, "plumbline serve models:/ticket-router@champion") as address:
        page = open_page(browser, 740)
        page.goto(address)
        page.get_by_role("heading", name="ticket-router").wait_for()
        page.fill("#input", TEXT)
        page.click("#send")
        page.locator("#answer .answer").wait_for()
        save(page, "serving")


@contextmanager
def serve(clone: Path, command: str) -> Iterator[str]:
    """Run a server in the clone, and give its address once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program, *arguments = f"{command} --port {port}".split()
    typed = [ROOT / ".venv/bin" / program, *arguments]
    process = subprocess.Popen(typed, cwd=clone, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            if process.poll() is not None:
                sys.exit(f"{command}: exit {process.poll()}")
            try:
                urlopen(address).close()
                break
            except OSError:
                time.sleep(1)
        yield address
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))
