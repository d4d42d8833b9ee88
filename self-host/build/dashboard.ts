// The dashboard's static files: a Vite build of dashboard/ into dist/dashboard.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ExitError } from "../exit-error.ts";
import { ROOT, runCommand } from "../run-command.ts";
import { DASHBOARD_DIRECTORY } from "./places.ts";
import { buildIfChanged, type Step } from "./stamp.ts";

export const VITE_CONFIG = "dashboard/vite.config.ts";
const PLACEHOLDER = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Signalbox</title></head>
  <body><h1>Signalbox</h1><p>This build has no dashboard. The API is documented at <a href="/docs">/docs</a>.</p></body>
</html>
`;

export const DASHBOARD: Step = {
  stamp: "dist/dashboard.stamp",
  product: `${DASHBOARD_DIRECTORY}/index.html`,
  inputs: ["dashboard", "contract", "domain", "package-lock.json", "tsconfig.base.json"],
};
const VITE = ["build", "dashboard", "--config", VITE_CONFIG, "--outDir", `../${DASHBOARD_DIRECTORY}`];
const VITE_BUILD = [...VITE, "--emptyOutDir"];
/** It leaves the folder's other files, because the package for workers and clients is served from there, too. */
export const VITE_WATCH: readonly string[] = [...VITE, "--watch"];

const buildDashboard = async (): Promise<void> => {
  if (!existsSync(path.join(ROOT, VITE_CONFIG))) {
    mkdirSync(path.join(ROOT, DASHBOARD_DIRECTORY), { recursive: true });
    writeFileSync(path.join(ROOT, DASHBOARD_DIRECTORY, "index.html"), PLACEHOLDER);
    return;
  }
  const { code, output } = await runCommand("vite", [...VITE_BUILD, "--logLevel", "warn"], { isQuiet: true });
  if (code !== 0) throw new ExitError(`The dashboard build failed:\n${output}`);
};

export const ensureDashboard = (): Promise<boolean> => buildIfChanged(DASHBOARD, buildDashboard);
