// The Python package `signalbox` as a wheel, as the coordinator serves it: of its own version, without dependencies. A
// wheel is a zip with a list of its files, so no Python is needed to build it.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { VERSION } from "../../contract/words/version.ts";
import { WHEEL_NAME } from "../../contract/words/wheel.ts";
import { ExitError } from "../exit-error.ts";
import { ROOT } from "../run-command.ts";
import { DASHBOARD_DIRECTORY } from "./places.ts";
import { buildIfChanged, type Step } from "./stamp.ts";
import { type ZipFile, zipOf } from "./zip.ts";

const SOURCE = "python/signalbox";

export const PYTHON_PACKAGE: Step = {
  stamp: "dist/wheel.stamp",
  product: `${DASHBOARD_DIRECTORY}/${WHEEL_NAME}`,
  inputs: [SOURCE, "self-host/build/wheel.ts", "self-host/build/zip.ts", "contract/words/version.ts", "LICENSE"],
};

const VERSION_FILE = "_version.py";
const UNSTAMPED = '__version__ = "0.0.0"';
const INFO = `signalbox-${VERSION}.dist-info`;

const METADATA = `Metadata-Version: 2.1
Name: signalbox
Version: ${VERSION}
Summary: Worker and client of a Signalbox coordinator
License: MIT
Requires-Python: >=3.9
`;

const WHEEL = `Wheel-Version: 1.0
Generator: signalbox
Root-Is-Purelib: true
Tag: py3-none-any
`;

const read = (name: string): string => readFileSync(path.join(ROOT, SOURCE, name), "utf8");

/** The modules, and the mark that they are typed; not what Python has compiled of them. */
const sourceNames = (): string[] =>
  readdirSync(path.join(ROOT, SOURCE))
    .filter((name) => /\.(py|typed)$/.test(name))
    .sort();

const stamped = (source: string): string => {
  if (!source.includes(UNSTAMPED)) throw new ExitError(`${SOURCE}/${VERSION_FILE} has no line ${UNSTAMPED}`);
  return source.replace(UNSTAMPED, `__version__ = "${VERSION}"`);
};

const recordOf = ({ name, bytes }: ZipFile): string =>
  `${name},sha256=${createHash("sha256").update(bytes).digest("base64url")},${bytes.length}`;

/** The wheel's bytes, the same each time. */
export const wheelOf = (): Buffer => {
  const texts: readonly (readonly [string, string])[] = [
    ...sourceNames().map(
      (name) => [`signalbox/${name}`, name === VERSION_FILE ? stamped(read(name)) : read(name)] as const,
    ),
    [`${INFO}/METADATA`, METADATA],
    [`${INFO}/WHEEL`, WHEEL],
    [`${INFO}/LICENSE`, readFileSync(path.join(ROOT, "LICENSE"), "utf8")],
  ];
  const files = texts.map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  const record = `${[...files.map(recordOf), `${INFO}/RECORD,,`].join("\n")}\n`;
  return zipOf([...files, { name: `${INFO}/RECORD`, bytes: Buffer.from(record) }]);
};

export const ensureWheel = (): Promise<boolean> =>
  buildIfChanged(PYTHON_PACKAGE, async () => {
    const folder = path.join(ROOT, DASHBOARD_DIRECTORY);
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) if (name.endsWith(".whl")) rmSync(path.join(folder, name));
    writeFileSync(path.join(ROOT, PYTHON_PACKAGE.product), wheelOf());
  });
