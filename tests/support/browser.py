"""A browser to look at pages with: one a session, without a window, off the network.

Tests that use it are passed over, with the reason, where there is none (``make browsers``).
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
AXE_CORE = Path(__file__).parents[2] / ".tools" / "node_modules" / "axe-core" / "axe.min.js"


class Browser:
    """A page that is looked at: its width in pixels, its colours, what it logs."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path, hash: str = "") -> None:  # noqa: A002
        """Open a file afresh, wide and light; hash: where in it, such as ``#step-3``."""
        self.wide(1600)
        self.dark(False)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(file.as_uri() + hash)

    def wide(self, width: int) -> None:
        """So many pixels wide."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def dark(self, is_dark: bool) -> None:
        """With light or dark colours; nothing moves."""
        media = {
            "prefers-color-scheme": "dark" if is_dark else "light",
            "prefers-reduced-motion": "reduce",
        }
        features = [{"name": name, "value": value} for name, value in media.items()]
        told = {"media": "", "features": features}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", told)

    def run(self, script: str, *arguments: object) -> Any:
        """What a script gives back."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Press keys one after another, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    @property
    def complaints(self) -> list[str]:
        """What the browser logged of the page since it was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @property
    def requests(self) -> list[str]:
        """What the page fetched beside itself."""
        names = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
        return list(self.run(names))

    @property
    def clipped(self) -> list[str]:
        """Texts that are cut off, and parts that make the page scroll sideways."""
        return list(self.run(CLIPPED))

    def axe(self) -> list[str]:
        """What axe finds wrong with the page by WCAG 2 A and AA."""
        if not AXE_CORE.is_file():
            pytest.skip("needs axe-core (make browsers)")
        if not self.run("return 'axe' in window"):
            self.run(AXE_CORE.read_text())
        return list(self.driver.execute_async_script(AXE))

    def printed(self) -> bytes:
        """The page on paper, as a PDF."""
        answer: Mapping[str, str] = self.driver.execute_cdp_cmd("Page.printToPDF", {})
        return base64.b64decode(answer["data"])

    def on_paper(self) -> str:
        """The text that is to be seen on paper."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        return str(self.run("return document.body.innerText"))


CLIPPED = """
const found = [];
const root = document.scrollingElement;
if (root.scrollWidth > root.clientWidth) found.push(`page: ${root.scrollWidth} wide`);
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const range = document.createRange();
while (texts.nextNode()) {
  const text = texts.currentNode;
  if (!text.data.trim() || text.parentElement.closest("svg, script, .unseen, .skip")) continue;
  range.selectNodeContents(text);
  const { left, right, top, bottom, width } = range.getBoundingClientRect();
  if (!width) continue;
  for (let around = text.parentElement; around; around = around.parentElement) {
    const { overflowX } = getComputedStyle(around);
    if (around !== root && overflowX === "visible") continue;
    if (/auto|scroll/.test(overflowX)) break;
    const box = around === root ? { left: 0, right: innerWidth, top: -1e9, bottom: 1e9 }
      : around.getBoundingClientRect();
    const across = left < box.left - 1 || right > box.right + 1;
    if (across || top < box.top - 2 || bottom > box.bottom + 2)
      found.push(`${around.tagName}: ${text.data.trim().slice(0, 60)}`);
  }
}
return found;
"""

AXE = """
const done = arguments[0];
axe.run({ runOnly: ["wcag2a", "wcag2aa"] }).then(({ violations }) =>
  done(violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.failureSummary}`))));
"""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this process."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        pytest.skip("needs chromium and chromedriver (make browsers)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield Browser(started)
    started.quit()
