// The container files name existing files: an image without a folder would fail only at its first start.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { withoutProxy } from "../../worker/no-proxy.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");

describe("the Dockerfile", () => {
  const lines = read("Dockerfile").split("\n");
  const copied = lines.filter((line) => /^COPY (?!--from)/.test(line)).flatMap((line) => line.split(" ").slice(1, -1));

  it("copies what exists, and what its context lets through", () => {
    const allowed = read(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const isLetThrough = (place: string) => allowed.some((one) => place === one || place.startsWith(`${one}/`));
    const places = copied.filter((one) => one !== ".");
    for (const place of places) {
      expect([place, existsSync(path.join(ROOT, place)), isLetThrough(place)]).toEqual([place, true, true]);
    }
    expect(places).toContain("self-host/migration-worker.js");
  });

  it("ends each image as a user without rights", () => {
    for (const target of ["coordinator", "worker"]) {
      const stage = read("Dockerfile").split(`AS ${target}\n`)[1]?.split("\nFROM ")[0] ?? "";
      expect(stage).toMatch(/^USER 65532:65532$/m);
    }
  });
});

it("compose.yaml keeps its worker off proxies on its way to the other services", () => {
  const { services } = parse(read("compose.yaml")) as {
    services: Record<"worker", { environment: { no_proxy: string } }>;
  };
  const isDirect = withoutProxy(services.worker.environment.no_proxy);
  for (const name of [...Object.keys(services), "host.docker.internal"])
    expect([name, isDirect(new URL(`http://${name}:8787`))]).toEqual([name, name !== "worker"]);
});

it("compose.yaml builds targets that the Dockerfile has, and shows nothing to other machines", () => {
  const { services } = parse(read("compose.yaml")) as {
    services: Record<string, { build?: { target: string }; ports?: string[] }>;
  };
  for (const { build, ports = [] } of Object.values(services)) {
    if (build !== undefined) expect(read("Dockerfile")).toContain(` AS ${build.target}\n`);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});
