// A folder with a built dist/ and no development dependencies, like the container: what the Dockerfile copies, with the
// packages that `npm ci --omit=dev` would install.

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const folder = folderForAllTests();
let child: ChildProcess | null = null;
let output = "";

/** What the coordinator's stage of the Dockerfile copies from the checkout. */
const copied = (): string[] => {
  const stage = readFileSync(path.join(ROOT, "Dockerfile"), "utf8").split("AS coordinator\n")[1]?.split("\nFROM ")[0];
  const lines = (stage ?? "").split("\n").filter((line) => /^COPY (?!--from)/.test(line));
  return lines.flatMap((line) => line.split(" ").slice(1, -1));
};

/** Packages at the top of node_modules that serving may import. */
const packages = (): string[] => {
  const lock = JSON.parse(readFileSync(path.join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([place, { dev, devOptional }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) && !dev && !devOptional)
    .map(([place]) => place);
};

beforeAll(() => {
  for (const place of copied()) cpSync(path.join(ROOT, place), path.join(folder.path, place), { recursive: true });
  symlinkSync(path.join(ROOT, "dist"), path.join(folder.path, "dist"));
  for (const place of packages()) {
    mkdirSync(path.dirname(path.join(folder.path, place)), { recursive: true });
    symlinkSync(path.join(ROOT, place), path.join(folder.path, place));
  }
});
afterAll(() => {
  child?.kill("SIGKILL");
});

it("serves, takes a job and ends, with neither build tools nor a build", async () => {
  expect(packages()).toContain("node_modules/workerd");
  expect(packages()).not.toContain("node_modules/wrangler");
  const port = await freePort();
  const { PATH: _, ...inherited } = process.env;
  const started = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "dist/server/start.js", "--no-worker"],
    {
      cwd: folder.path,
      env: {
        ...inherited,
        PATH: "/usr/bin:/bin",
        NODE_ENV: "production",
        PORT: String(port),
        SERVICE_DATA_DIR: path.join(folder.path, "data"),
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  child = started;
  for (const stream of [started.stdout, started.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += String(chunk);
    });
  const url = `http://127.0.0.1:${port}`;
  const health = () =>
    fetch(`${url}/health`).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(async () => (started.exitCode === null ? health() : output), { timeout: 60_000 }).toBe(200);
  const key = readFileSync(path.join(folder.path, "data/default.admin.key"), "utf8").trim();
  const made = await fetch(`${url}/api/jobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ prompt: "in production" }),
  });
  expect(made.status).toBe(201);
  expect((await fetch(url)).headers.get("content-type")).toContain("text/html");
  expect(output).not.toContain("Built the");
  const ended = new Promise((resolve) => started.once("exit", resolve));
  started.kill("SIGTERM");
  expect(await ended).toBe(0);
}, 90_000);
