// `npm run pictures [-- --minutes 60]`: starts a server with an empty data folder, fills it, has it work for so many
// minutes, and takes the documents' pictures of its dashboard, in both themes.

import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { ExitError, runScript } from "../self-host/exit-error.ts";
import { ROOT } from "../self-host/run-command.ts";
import { CHROMIUM } from "../test/support/chromium.ts";
import { type SelfHosted, startSelfHosted } from "../test/support/self-hosted.ts";
import { type Call, fillTenant } from "./pictures/busy-tenant.ts";
import { PICTURE_MAX_BYTES, SHOWN, THEMES } from "./pictures/shown.ts";

const FOLDER = path.join(ROOT, "docs/pictures");
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const callOf =
  ({ url, adminKey }: SelfHosted): Call =>
  async <Answer>(method: string, target: string, body?: unknown): Promise<Answer> => {
    const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
    const sent = typeof body === "string" ? body : JSON.stringify(body ?? {});
    const response = await fetch(url + target, { method, headers, body: sent });
    const text = await response.text();
    if (!response.ok) throw new ExitError(`${method} ${target}: ${response.status} ${text}`);
    return JSON.parse(text) as Answer;
  };

const take = async (server: SelfHosted, story: string): Promise<void> => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    for (const colorScheme of THEMES) {
      const page = await browser.newPage({ viewport: DESK, colorScheme, reducedMotion: "reduce" });
      await page.goto(`${server.url}/#key=${server.adminKey}`);
      await page.getByText("Live", { exact: true }).waitFor();
      // The tenant is busy: nobody there needs the first steps.
      await page.getByRole("button", { name: "Dismiss" }).click();
      await page.mouse.move(0, 0);
      for (const { name, place, isOnPhone = false } of SHOWN) {
        await page.setViewportSize(isOnPhone ? PHONE : DESK);
        await page.goto(`${server.url}/#/${place.replace("*", story)}`);
        await page.locator("main h1").waitFor();
        await page.locator(".loading").first().waitFor({ state: "detached" });
        const file = path.join(FOLDER, `${name}-${colorScheme}.png`);
        await page.screenshot({ path: file, animations: "disabled" });
        const { size } = statSync(file);
        if (size > PICTURE_MAX_BYTES) throw new ExitError(`${file} has ${size} bytes: at most ${PICTURE_MAX_BYTES}`);
        console.log(`${path.relative(ROOT, file)}: ${Math.ceil(size / 1024)} KiB`);
      }
      await page.close();
    }
  } finally {
    await browser.close();
  }
};

const pictures = async (): Promise<number> => {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: "4" } } });
  mkdirSync(FOLDER, { recursive: true });
  const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-pictures-"));
  const server = await startSelfHosted(dataDir, { env: { SERVICE_CATALOG_SYNC: "0", SERVICE_LOG: "off" } });
  try {
    await take(server, await fillTenant(callOf(server), Number(values.minutes)));
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
  return 0;
};

await runScript(pictures);
