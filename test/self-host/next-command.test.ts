// The command that `npm start` ends with on a terminal, as a shell runs it.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { nextCommand } from "../../self-host/next-command.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const STUB = '#!/bin/sh\necho "$SERVICE_API_URL $SERVICE_API_KEY"\nfor word in "$@"; do echo "$word"; done\n';

const temporary = folderForAllTests();

it("runs a job with the admin key, wherever the data folder is", () => {
  const folder = path.join(temporary.path, "it's a folder $HOME");
  mkdirSync(folder);
  const keyFile = path.join(folder, "default.admin.key");
  writeFileSync(keyFile, "sk-default-1\n");
  const npx = path.join(folder, "npx");
  writeFileSync(npx, STUB);
  chmodSync(npx, 0o755);
  const url = "http://127.0.0.1:8787";
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const said = execFileSync("sh", ["-c", nextCommand(url, keyFile)], { env, encoding: "utf8" });
  expect(said.trimEnd().split("\n")).toEqual([
    `${url} sk-default-1`,
    "--allow-remote=root",
    "--yes",
    `${url}/signalbox.tgz`,
    "run",
    "Say hello.",
    "--wait",
  ]);
});

it("is one of PowerShell on Windows", () => {
  expect(nextCommand("http://127.0.0.1:8787", "C:\\it's $HOME\\default.admin.key", "win32")).toBe(
    "$env:SERVICE_API_URL = 'http://127.0.0.1:8787'; " +
      "$env:SERVICE_API_KEY = Get-Content -LiteralPath 'C:\\it''s $HOME\\default.admin.key'; " +
      'npx --allow-remote=root --yes http://127.0.0.1:8787/signalbox.tgz run "Say hello." --wait',
  );
});
