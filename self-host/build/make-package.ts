// The npm package `signalbox`, as the coordinator serves it at /signalbox.tgz: worker, CLI and SDK of its own version,
// bundled, with the SDK's types. It has no dependencies and no install scripts.

import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { build, stop } from "esbuild";
import { VERSION } from "../../contract/words/version.ts";
import { ExitError } from "../exit-error.ts";
import { filesBelow } from "../files-below.ts";
import { ROOT } from "../run-command.ts";
import { writePackageTypes } from "./package-types.ts";
import { REQUIRE } from "./require-banner.ts";
import { type TarFile, tarOf } from "./tar.ts";

const MAX_PACKAGE_BYTES = 4 * 1024 * 1024;
const OLDEST_NODE = "node20";

const MANIFEST = {
  name: "signalbox",
  version: VERSION,
  description: "Worker, command line and SDK of a Signalbox coordinator",
  license: "MIT",
  type: "module",
  engines: { node: ">=20" },
  bin: { signalbox: "cli/main.js" },
  exports: {
    ".": { types: "./types/sdk/signalbox.d.ts", default: "./sdk/signalbox.js" },
    "./worker": { types: "./types/worker/serve/serve.d.ts", default: "./worker/serve.js" },
    "./package.json": "./package.json",
  },
};

const README = `# signalbox ${VERSION}

Worker, command line and SDK of the Signalbox coordinator that served this package.

    npx --allow-remote=root <coordinator>/signalbox.tgz worker --runtime ollama
    npx --allow-remote=root <coordinator>/signalbox.tgz --help
    npx --allow-remote=root <coordinator>/signalbox.tgz worker --exec 'tr a-z A-Z' --provider upper
    npm install --allow-remote=root <coordinator>/signalbox.tgz   # import { Signalbox } from "signalbox"
                                              # import { serve } from "signalbox/worker"
`;

/** Node prints the whole line that an error comes from. */
const MAX_LINE_CHARS = 160;

const SHARED = {
  bundle: true,
  minify: true,
  lineLimit: MAX_LINE_CHARS,
  format: "esm",
  absWorkingDir: ROOT,
  logLevel: "silent",
} as const;

const bundle = async (directory: string): Promise<void> => {
  await build({
    ...SHARED,
    entryPoints: { "cli/main": "cli/main.ts", "worker/serve": "worker/serve/serve.ts" },
    outdir: directory,
    platform: "node",
    target: OLDEST_NODE,
    splitting: true,
    chunkNames: "shared/[name]-[hash]",
    inject: [path.join(ROOT, "self-host/build/oldest-node.js")],
    banner: { js: REQUIRE },
  });
  await build({
    ...SHARED,
    entryPoints: { "sdk/signalbox": "sdk/signalbox.ts" },
    outdir: directory,
    platform: "neutral",
    target: "es2022",
    minify: false,
  });
};

/** A shell needs the first line to run the command; it must come before esbuild's banner. */
const makeExecutable = (file: string): void => {
  writeFileSync(file, `#!/usr/bin/env node\n${readFileSync(file, "utf8")}`);
  chmodSync(file, 0o755);
};

const filesOf = (directory: string): TarFile[] =>
  filesBelow(directory).map((file) => ({
    name: `package/${path.relative(directory, file).replaceAll(path.sep, "/")}`,
    bytes: readFileSync(file),
    isExecutable: (statSync(file).mode & 0o100) !== 0,
  }));

/** Writes the archive to `target`, and what is in it to the folder `unpacked`, both relative to the root. */
export const makePackage = async (target: string, unpacked: string): Promise<void> => {
  const directory = path.join(ROOT, unpacked);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  try {
    await bundle(directory);
  } finally {
    // Its service would run for as long as the server that built the package.
    await stop();
  }
  makeExecutable(path.join(directory, "cli/main.js"));
  await writePackageTypes(path.join(directory, "types"));
  writeFileSync(path.join(directory, "package.json"), `${JSON.stringify(MANIFEST, null, 2)}\n`);
  writeFileSync(path.join(directory, "README.md"), README);
  const files = filesOf(directory);
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (size > MAX_PACKAGE_BYTES) throw new ExitError(`The package is ${size} bytes, more than ${MAX_PACKAGE_BYTES}.`);
  writeFileSync(path.join(ROOT, target), gzipSync(tarOf(files), { level: 9 }));
};
