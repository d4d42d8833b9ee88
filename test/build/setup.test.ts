// The start of every script, in a checkout whose packages are installed.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, it } from "vitest";
import { dataDirAt, lockDataDir } from "../../self-host/data/data-dir.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SCRIPTS = path.join(ROOT, "scripts");
const BUILT = "self-host/build/built.mjs";
const PLATFORM = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

const checkout = folderForEachTest();

const write = (file: string, text: string, mode = 0o644): void => {
  const place = path.join(checkout.path, file);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text, { mode });
};

beforeEach(() => {
  for (const name of readdirSync(SCRIPTS).filter((one) => one.endsWith(".mjs")))
    cpSync(path.join(SCRIPTS, name), path.join(checkout.path, "scripts", name));
  cpSync(path.join(ROOT, BUILT), path.join(checkout.path, BUILT));
  write("package.json", '{"type": "module"}');
  write("package-lock.json", '{"packages": {"": {}}}');
  write("node_modules/.package-lock.json", '{"packages": {}}');
  write("hello.ts", 'const text: string = "hello";\nconsole.log(text, process.execPath);\n');
});

const start = (target = "hello.ts"): string => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["scripts/setup.mjs", target], {
    cwd: checkout.path,
    encoding: "utf8",
  });
  expect([stderr, status]).toEqual(["", 0]);
  return stdout.trim();
};

it("a Node that was installed but does not run on this machine is not used, the first time and later", () => {
  for (const folder of ["node", "node-bin"])
    write(`node_modules/${folder}-${PLATFORM}/bin/node`, "#!/bin/sh\nexit 1\n", 0o755);
  expect(start()).toBe(`hello ${process.execPath}`);
  expect(start()).toBe(`hello ${process.execPath}`);
});

const BUILDS = "builds --for-server";

it("a server is run from what is built, which is built again once a source changes or a product is gone", () => {
  write("node_modules/wrangler/package.json", "{}");
  write("src/one.ts", "1");
  write("dist/server/start.js", 'console.log("serves");\n');
  write(
    "scripts/build.ts",
    `import { markBuilt, seenIn } from "../self-host/build/built.mjs";
     const [root, inputs] = [process.cwd(), ["src", "package.json"]];
     markBuilt(root, { products: ["dist/server/start.js"], inputs, seen: seenIn(root, inputs) });
     console.log("builds", ...process.argv.slice(2));
    `,
  );
  const started = () => start("scripts/start.ts").split("\n");
  expect([started(), started()]).toEqual([[BUILDS, "serves"], ["serves"]]);
  write("src/two.ts", "2");
  expect([started(), started()]).toEqual([[BUILDS, "serves"], ["serves"]]);
  write("src/two.ts", "longer");
  expect(started()).toEqual([BUILDS, "serves"]);
  rmSync(path.join(checkout.path, "src/one.ts"));
  expect(started()).toEqual([BUILDS, "serves"]);
  write("src/three.ts", "without the tools that build it");
  rmSync(path.join(checkout.path, "node_modules/wrangler"), { recursive: true });
  expect(started()).toEqual(["serves"]);
});

it("a server is not run after a build that failed", () => {
  write("node_modules/wrangler/package.json", "{}");
  write("dist/server/start.js", 'console.log("serves");\n');
  write("scripts/build.ts", "process.exitCode = 3;\n");
  const { stdout, status } = spawnSync(process.execPath, ["scripts/setup.mjs", "scripts/start.ts"], {
    cwd: checkout.path,
    encoding: "utf8",
  });
  expect([stdout, status]).toEqual(["", 3]);
});

it("an npm that the system killed for want of memory is named as that", () => {
  rmSync(path.join(checkout.path, "node_modules/.package-lock.json"));
  write("npm.js", 'process.kill(process.pid, "SIGKILL");\n');
  const { stderr, status } = spawnSync(process.execPath, ["scripts/setup.mjs", "hello.ts"], {
    cwd: checkout.path,
    encoding: "utf8",
    env: { ...process.env, npm_execpath: path.join(checkout.path, "npm.js") },
  });
  expect([stderr, status]).toEqual([expect.stringMatching(/npm was killed\. .* too little memory/), 1]);
});

it("a server whose folder another one holds says so before anything is built", async () => {
  const lock = await lockDataDir(dataDirAt(checkout.path));
  const build = spawn(process.execPath, [path.join(SCRIPTS, "build.ts"), "--for-server"], {
    env: { ...process.env, SERVICE_DATA_DIR: checkout.path },
  });
  const ended = once(build, "exit");
  let said = "";
  build.stderr.setEncoding("utf8").on("data", (chunk) => {
    said += chunk;
  });
  await expect
    .poll(() => said, { timeout: 30_000 })
    .toContain(`Waiting for the server that is using ${checkout.path} to stop …\n`);
  lock.close();
  expect(await ended).toEqual([0, null]);
});
