// The import rules. Each room states what it may import; the guard reads every import of every file, and is itself
// tested with imports planted in memory.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");

interface Room {
  /** Folders and files; the longest match for a path decides. The first names the room. */
  readonly places: readonly string[];
  /** Rooms, and single files of rooms, that it may import; `domain/*` stands for the room and all rooms in it. */
  readonly may: readonly string[];
  /** Packages it may import; `node:` stands for Node's own. */
  readonly packages: readonly string[];
}

/**
 * From the bottom up: a room imports from rows above its own. A new room is a new row; a room without a row fails the
 * test. A folder inside a room is a room of its own, so that the arrows inside are guarded, too.
 */
const ROOMS: readonly Room[] = [
  // The rules.
  { places: ["domain/words"], may: [], packages: [] },
  { places: ["domain/fleet"], may: ["domain/words"], packages: [] },
  { places: ["domain/job"], may: ["domain/words", "domain/fleet"], packages: [] },
  { places: ["domain/insight"], may: ["domain/words", "domain/job"], packages: [] },
  { places: ["domain/catalog"], may: ["domain/words"], packages: [] },
  { places: ["domain/access"], may: ["domain/words"], packages: [] },
  { places: ["domain/tenant"], may: ["domain/words"], packages: [] },
  { places: ["domain/file"], may: ["domain/words", "domain/access"], packages: [] },
  { places: ["domain/batch"], may: ["domain/words", "domain/access", "domain/job"], packages: [] },
  { places: ["domain/money"], may: ["domain/words", "domain/fleet", "domain/job", "domain/catalog"], packages: [] },
  { places: ["domain/front-door"], may: ["domain/words", "domain/fleet", "domain/job"], packages: [] },

  // The config, the killswitch and webhooks.
  { places: ["domain"], may: ["domain/words", "domain/access", "domain/money", "domain/front-door"], packages: [] },
  { places: ["domain/schedule"], may: ["domain/words", "domain/fleet", "domain/job", "domain"], packages: [] },
  { places: ["domain/routing"], may: ["domain/words", "domain/fleet", "domain"], packages: [] },
  { places: ["log"], may: [], packages: [] },
  { places: ["migrations"], may: [], packages: ["drizzle-orm"] },
  { places: ["providers"], may: ["domain/*"], packages: [] },

  // The wire.
  { places: ["contract/text"], may: ["domain/*"], packages: [] },
  { places: ["contract"], may: ["domain/*", "contract/text"], packages: ["zod"] },
  { places: ["contract/client", "contract/client.ts"], may: ["domain/*", "contract/text", "contract"], packages: [] },

  // What runs on a tenant's thread.
  { places: ["durable-objects/store"], may: ["domain/*", "contract/*"], packages: [] },
  { places: ["durable-objects/turn"], may: ["contract/*", "domain/*", "log", "durable-objects/store"], packages: [] },
  {
    places: ["durable-objects/steps"],
    may: ["contract/*", "domain/*", "providers", "durable-objects/store", "durable-objects/turn"],
    packages: [],
  },
  {
    places: ["durable-objects/operations"],
    may: ["domain/*", "contract/*", "durable-objects/store", "durable-objects/turn", "durable-objects/steps"],
    packages: [],
  },
  {
    places: ["durable-objects/api.ts"],
    may: ["domain/*", "durable-objects/turn", "durable-objects/operations"],
    packages: [],
  },
  { places: ["durable-objects/object-name.ts"], may: ["domain/*"], packages: [] },
  {
    places: ["durable-objects/files"],
    may: [
      "domain/*",
      "contract/*",
      "durable-objects/store",
      "durable-objects/object-name.ts",
      "durable-objects/sockets/object-line.ts",
    ],
    packages: ["@noble/hashes", "cloudflare:workers"],
  },
  {
    places: ["durable-objects/calls"],
    may: [
      "domain/*",
      "log",
      "durable-objects/store",
      "durable-objects/turn",
      "durable-objects/steps",
      "durable-objects/operations",
      "durable-objects/api.ts",
    ],
    packages: [],
  },
  {
    places: ["durable-objects/history"],
    may: [
      "domain/*",
      "contract/*",
      "log",
      "durable-objects/store",
      "durable-objects/turn",
      "durable-objects/operations",
      "durable-objects/calls",
    ],
    packages: [],
  },
  {
    places: ["durable-objects/sockets"],
    may: [
      "contract/*",
      "domain/*",
      "log",
      "durable-objects/store",
      "durable-objects/turn",
      "durable-objects/steps",
      "durable-objects/operations",
      "durable-objects/calls",
      "durable-objects/history",
    ],
    packages: [],
  },
  {
    places: ["durable-objects/waits"],
    may: ["contract/*", "domain/*", "durable-objects/operations", "durable-objects/api.ts", "durable-objects/calls"],
    packages: [],
  },
  {
    places: ["durable-objects/relay"],
    may: [
      "contract/*",
      "domain/*",
      "durable-objects/store",
      "durable-objects/turn",
      "durable-objects/operations",
      "durable-objects/object-name.ts",
      "durable-objects/sockets",
    ],
    packages: ["cloudflare:workers"],
  },
  {
    places: ["durable-objects/effects"],
    may: [
      "domain/*",
      "log",
      "durable-objects/turn",
      "durable-objects/steps",
      "durable-objects/operations",
      "durable-objects/files",
      "durable-objects/calls",
      "durable-objects/sockets",
      "durable-objects/waits",
      "durable-objects/relay",
    ],
    packages: [],
  },

  // The object itself.
  {
    places: ["durable-objects"],
    may: [
      "domain/*",
      "contract/*",
      "log",
      "durable-objects/store",
      "durable-objects/turn",
      "durable-objects/operations",
      "durable-objects/api.ts",
      "durable-objects/object-name.ts",
      "durable-objects/files",
      "durable-objects/calls",
      "durable-objects/history",
      "durable-objects/sockets",
      "durable-objects/waits",
      "durable-objects/relay",
      "durable-objects/effects",
    ],
    packages: ["cloudflare:workers"],
  },

  // Calls of model runtimes, as the worker process and the coordinator make them.
  { places: ["worker/apis"], may: ["contract/*"], packages: [] },
  {
    places: [
      "worker/runtimes/runtime.ts",
      "worker/runtimes/backend.ts",
      "worker/runtimes/chat-body.ts",
      "worker/runtimes/chat-runtime.ts",
      "worker/runtimes/error-body.ts",
      "worker/runtimes/error-causes.ts",
      "worker/runtimes/exchange.ts",
      "worker/runtimes/failure.ts",
      "worker/runtimes/form-body.ts",
      "worker/runtimes/hide-secret.ts",
      "worker/runtimes/model-names.ts",
      "worker/runtimes/openai-backend.ts",
      "worker/runtimes/request-failure.ts",
      "worker/runtimes/stream-reader.ts",
      "worker/runtimes/whole-answer.ts",
      "worker/load-input.ts",
      "worker/run-job.ts",
    ],
    may: ["contract/*", "worker/apis"],
    packages: ["zod"],
  },

  // The edge.
  {
    places: ["src/env.ts", "src/home.ts"],
    may: [
      "domain/*",
      "durable-objects/operations",
      "durable-objects/files",
      "durable-objects/relay",
      "durable-objects",
    ],
    packages: ["hono"],
  },
  {
    places: ["src/http"],
    may: ["contract/*", "domain/*", "log", "durable-objects/calls", "src/env.ts"],
    packages: ["hono", "zod"],
  },
  {
    places: ["src/tenant"],
    may: [
      "domain/*",
      "contract/*",
      "durable-objects/operations",
      "durable-objects/api.ts",
      "durable-objects/object-name.ts",
      "durable-objects/calls",
      "durable-objects/relay",
      "durable-objects",
      "src/env.ts",
      "src/http",
    ],
    packages: [],
  },
  {
    places: ["src/endpoint"],
    may: ["contract/*", "domain/*", "src/env.ts", "src/http", "src/tenant"],
    packages: ["hono", "zod"],
  },
  {
    places: ["src/history", "src/history/archive"],
    may: ["contract/*", "domain/*", "log", "migrations", "src/env.ts", "src/home.ts", "src/http", "src/tenant"],
    packages: ["zod"],
  },
  {
    places: [
      "src/catalog/url-policy.ts",
      "src/catalog/metadata-addresses.ts",
      "src/catalog/bounded-body.ts",
      "src/catalog/when-aborted.ts",
    ],
    may: ["domain/*"],
    packages: [],
  },
  { places: ["src/catalog/vault"], may: ["contract/*", "domain/*", "src/catalog/url-policy.ts"], packages: [] },
  {
    places: ["src/catalog"],
    may: [
      "domain/*",
      "providers",
      "contract/*",
      "log",
      "src/history",
      "src/catalog/url-policy.ts",
      "src/catalog/vault",
    ],
    packages: ["yaml", "zod"],
  },
  {
    places: ["src/sign-in"],
    may: [
      "contract/*",
      "domain/*",
      "durable-objects/operations",
      "src/env.ts",
      "src/http",
      "src/tenant",
      "src/history",
      "src/catalog/url-policy.ts",
    ],
    packages: ["hono", "jose", "oauth4webapi", "yaml"],
  },
  {
    places: ["src/files"],
    may: [
      "contract/*",
      "domain/*",
      "durable-objects/operations",
      "durable-objects/object-name.ts",
      "durable-objects/files",
      "src/env.ts",
      "src/http",
      "src/tenant",
    ],
    packages: [],
  },
  {
    places: ["src/runner"],
    may: [
      "contract/*",
      "domain/*",
      "log",
      "durable-objects/object-name.ts",
      "durable-objects/operations",
      "durable-objects/relay",
      "src/env.ts",
      "src/http",
      "src/files",
      "src/catalog",
      "src/catalog/vault",
      "worker/apis",
      "worker/runtimes/runtime.ts",
    ],
    packages: [],
  },
  {
    places: ["src/front-door"],
    may: [
      "contract/*",
      "domain/*",
      "durable-objects/turn",
      "durable-objects/operations",
      "durable-objects/relay",
      "src/http",
      "src/tenant",
      "src/endpoint",
      "src/history",
      "src/files",
    ],
    packages: ["hono", "zod"],
  },
  {
    places: ["src/mcp"],
    may: ["contract/*", "src/http", "src/endpoint"],
    packages: ["zod"],
  },
  {
    places: ["src/routes"],
    may: [
      "contract/*",
      "domain/*",
      "durable-objects/steps",
      "durable-objects/operations",
      "durable-objects/api.ts",
      "durable-objects/files",
      "durable-objects/calls",
      "src/env.ts",
      "src/http",
      "src/tenant",
      "src/endpoint",
      "src/history",
      "src/catalog/url-policy.ts",
      "src/catalog",
      "src/sign-in",
      "src/catalog/vault",
      "src/files",
    ],
    packages: ["yaml", "zod"],
  },
  {
    places: ["src"],
    may: [
      "contract/*",
      "domain/*",
      "log",
      "durable-objects/object-name.ts",
      "durable-objects/files",
      "durable-objects/relay",
      "durable-objects",
      "src/env.ts",
      "src/http",
      "src/tenant",
      "src/endpoint",
      "src/history",
      "src/catalog",
      "src/runner",
      "src/front-door",
      "src/mcp",
      "src/routes",
    ],
    packages: ["cloudflare:workers", "hono"],
  },

  // The process that runs jobs.
  {
    places: ["worker/runtimes"],
    may: ["contract/*", "providers", "worker/apis", "worker/runtimes/runtime.ts"],
    packages: ["@ai-sdk/anthropic", "@ai-sdk/google", "ai", "node:", "undici", "zod"],
  },
  {
    places: ["worker/session.ts", "worker/coordinator-socket.ts", "worker/backoff.ts"],
    may: ["contract/*"],
    packages: ["ws"],
  },
  {
    places: ["worker/models"],
    may: ["contract/*", "worker/runtimes", "worker/session.ts"],
    packages: ["node:"],
  },
  { places: ["worker/openings"], may: ["contract/*"], packages: ["node:", "zod"] },
  {
    places: ["worker/streams"],
    may: ["contract/*", "worker/runtimes", "worker/session.ts"],
    packages: ["node:", "ws"],
  },
  {
    places: ["worker/job-facts.ts", "worker/job-files.ts"],
    may: ["contract/*", "worker/runtimes", "worker/runtimes/runtime.ts", "worker/session.ts"],
    packages: ["node:"],
  },
  {
    places: ["worker/exec"],
    may: ["contract/*", "worker/apis", "worker/runtimes/runtime.ts", "worker/session.ts", "worker/job-facts.ts"],
    packages: ["node:", "zod"],
  },
  {
    places: ["worker"],
    may: [
      "contract/*",
      "log",
      "worker/exec",
      "worker/job-facts.ts",
      "worker/models",
      "worker/openings",
      "worker/runtimes",
      "worker/runtimes/runtime.ts",
      "worker/session.ts",
      "worker/streams",
    ],
    packages: ["node:", "ws", "yaml", "zod"],
  },
  {
    places: ["worker/serve"],
    may: ["contract/*", "worker", "worker/apis", "worker/exec", "worker/job-facts.ts", "worker/runtimes/runtime.ts"],
    packages: ["node:", "zod"],
  },

  // The dashboard: no subject imports another.
  {
    places: ["dashboard/api.ts", "dashboard/format.ts", "dashboard/router.ts", "dashboard/answer-text.ts"],
    may: ["contract/*"],
    packages: ["@preact/signals"],
  },
  { places: ["dashboard/state"], may: ["contract/*", "dashboard/api.ts"], packages: ["@preact/signals", "preact"] },
  { places: ["dashboard/parts"], may: ["contract/*", "dashboard/api.ts", "dashboard/state"], packages: ["preact"] },
  {
    places: ["dashboard/jobs"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard/fleet"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/schedules"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/catalog"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/cost"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: [],
  },
  {
    places: ["dashboard/settings"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard/overview"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/batches"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/models"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/playground"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard/shell"],
    may: [
      "contract/*",
      "dashboard/api.ts",
      "dashboard/state",
      "dashboard/parts",
      "dashboard/jobs",
      "dashboard/fleet",
      "dashboard/schedules",
      "dashboard/catalog",
      "dashboard/cost",
      "dashboard/settings",
      "dashboard/overview",
      "dashboard/playground",
      "dashboard/batches",
      "dashboard/models",
    ],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard"],
    may: ["dashboard/api.ts", "dashboard/state", "dashboard/shell"],
    packages: ["@preact/preset-vite", "preact", "vite"],
  },

  // It also runs in browsers.
  { places: ["sdk"], may: ["contract/*"], packages: [] },
  { places: ["cli"], may: ["contract/*", "sdk"], packages: ["node:"] },
  { places: ["cli/verbs"], may: ["contract/*", "worker", "worker/session.ts", "sdk", "cli"], packages: ["node:"] },
  { places: ["cli/main.ts", "cli/verbs.ts"], may: ["contract/*", "sdk", "cli", "cli/verbs"], packages: ["node:"] },

  // What the server needs when it starts from a checkout, and the scripts, too.
  {
    places: ["scripts/build", "scripts/exit-error.ts", "scripts/run-command.ts", "scripts/files-below.ts"],
    may: ["contract/*"],
    packages: ["esbuild", "node:", "wrangler", "zod"],
  },
  {
    places: ["self-host"],
    may: [
      "contract/*",
      "domain/*",
      "log",
      "durable-objects/store",
      "src/env.ts",
      "src/catalog/url-policy.ts",
      "src/catalog",
      "src/sign-in",
      "scripts/build",
    ],
    packages: ["node:"],
  },
  {
    places: ["self-host/edge"],
    may: [
      "domain/*",
      "contract/*",
      "log",
      "durable-objects/api.ts",
      "durable-objects/calls",
      "durable-objects/sockets",
      "src/env.ts",
      "src/http",
      "src",
      "self-host",
    ],
    packages: ["@hono/node-server", "node:", "ws"],
  },
  { places: ["scripts/backup"], may: ["scripts/build", "self-host"], packages: ["node:"] },
  { places: ["scripts/deploy"], may: ["scripts/build"], packages: ["node:"] },
  { places: ["scripts/pictures"], may: [], packages: [] },
  {
    places: ["scripts"],
    may: [
      "domain/*",
      "log",
      "providers",
      "src/catalog",
      "scripts/build",
      "self-host",
      "self-host/edge",
      "scripts/backup",
      "scripts/deploy",
      "scripts/pictures",
      "test",
    ],
    packages: ["@pydantic/genai-prices", "node:", "playwright-core"],
  },

  // It measures the router's choice and the catalog's sync alone, so it imports these rooms.
  {
    places: ["bench"],
    may: ["domain/*", "contract/*", "migrations", "src/catalog/vault", "src/catalog"],
    packages: ["@anthropic-ai/sdk", "drizzle-orm", "esbuild", "miniflare", "node:", "openai", "ws"],
  },
  { places: ["bench/floor"], may: ["bench"], packages: ["cloudflare:workers", "esbuild", "node:"] },
  { places: ["bench/peers"], may: ["bench"], packages: ["bullmq", "node:", "pg-boss"] },
  { places: ["bench/library"], may: ["bench", "bench/peers", "sdk"], packages: [] },
  { places: ["bench/hostile"], may: ["contract/*", "bench"], packages: ["node:", "ws"] },
  { places: ["bench/dashboard"], may: ["contract/*", "bench"], packages: ["playwright-core"] },
  {
    places: ["bench/parts"],
    may: ["domain/*", "bench", "bench/dashboard", "bench/floor", "bench/peers", "bench/hostile"],
    packages: ["node:", "playwright-core", "ws"],
  },
  { places: ["bench/main.ts"], may: ["bench", "bench/floor", "bench/parts"], packages: ["node:"] },
];

const nameOf = ({ places }: Room): string => places[0] as string;

const isWithin = (file: string, place: string): boolean => file === place || file.startsWith(`${place}/`);

const roomOf = (file: string): Room | null => {
  let best: { room: Room; length: number } | null = null;
  for (const room of ROOMS) {
    for (const place of room.places) {
      if (isWithin(file, place) && place.length > (best?.length ?? -1)) best = { room, length: place.length };
    }
  }
  return best?.room ?? null;
};

/** Whether a row allows another room. */
const allows = (room: Room, other: Room): boolean =>
  room.may.some((one) => (one.endsWith("/*") ? isWithin(nameOf(other), one.slice(0, -2)) : one === nameOf(other)));

const packageOf = (specifier: string): string => {
  if (specifier.startsWith("node:")) return "node:";
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
};

/** What is wrong with one import of one file; null if it is allowed. */
const wrongWith = (file: string, specifier: string): string | null => {
  const room = roomOf(file);
  if (room === null) return `${file} is in no room: add a row to ROOMS`;
  if (!specifier.startsWith(".")) {
    const name = packageOf(specifier);
    return room.packages.includes(name) ? null : `${file} imports the package ${name}, ${nameOf(room)} does not`;
  }
  const target = path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier));
  const targetRoom = roomOf(target);
  if (targetRoom === room) return null;
  const allowed = room.may.includes(target) || (targetRoom !== null && allows(room, targetRoom));
  return allowed || (target.startsWith("test/") && room.may.includes("test"))
    ? null
    : `${file} imports ${target}: ${nameOf(room)} does not import ${targetRoom === null ? target : nameOf(targetRoom)}`;
};

const IMPORT = /^(?:import|export)\s(?:[^;"]*?\sfrom\s)?"([^"]+)"|(?<!')\bimport\(\s*"([^"]+)"\s*\)/gm;

const importsOf = (source: string): string[] =>
  [...source.matchAll(IMPORT)].map(([, stated, dynamic]) => stated ?? dynamic ?? "");

/** Imports of values; type imports leave nothing at run time. */
const valueImportsOf = (source: string): string[] =>
  importsOf(source.replaceAll(/^(?:import|export) type [^;]*;$/gm, ""));

const relative = (from: string, to: string): string => {
  const found = path.posix.relative(path.posix.dirname(from), to);
  return found.startsWith(".") ? found : `./${found}`;
};

const sources = new Map<string, string>();
for await (const entry of glob("**/*.{ts,tsx}", {
  cwd: ROOT,
  exclude: (name) => ["node_modules", "dist", "test"].includes(name) || name.startsWith("."),
})) {
  const file = entry.replaceAll(path.sep, "/");
  if (file.includes("/")) sources.set(file, readFileSync(path.join(ROOT, file), "utf8"));
}

describe("every import", () => {
  it("goes down, to a room that its own room may read", () => {
    const wrong = [...sources].flatMap(([file, source]) =>
      importsOf(source).map((specifier) => wrongWith(file, specifier)),
    );
    expect(wrong.filter((one) => one !== null)).toEqual([]);
  });

  it("needs what its room's row allows: no place, room or package stands there for nothing", () => {
    const used = new Map(ROOMS.map((room) => [room, new Set<string>()]));
    for (const [file, source] of sources) {
      const room = roomOf(file);
      if (room === null) continue;
      const found = used.get(room);
      for (const place of room.places) if (isWithin(file, place)) found?.add(place);
      for (const specifier of importsOf(source)) {
        const target = path.posix.join(path.posix.dirname(file), specifier);
        const targetRoom = roomOf(target);
        if (!specifier.startsWith(".")) found?.add(packageOf(specifier));
        else
          for (const one of [
            target,
            target.split("/")[0] ?? "",
            `${target.split("/")[0]}/*`,
            targetRoom && nameOf(targetRoom),
          ])
            if (one) found?.add(one);
      }
    }
    const idle = ROOMS.flatMap((room) =>
      [...room.places, ...room.may, ...room.packages]
        .filter((one) => !used.get(room)?.has(one))
        .map((one) => `${nameOf(room)}: ${one}`),
    );
    expect(idle).toEqual([]);
  });

  it("goes to a room further up in the table, so that no rooms form a circle", () => {
    const upward = ROOMS.flatMap((room, at) =>
      ROOMS.slice(at + 1)
        .filter((other) => allows(room, other))
        .map((other) => `${nameOf(room)} → ${nameOf(other)}`),
    );
    expect(upward).toEqual([]);
  });

  it("is part of no circle", () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
      if (trail.includes(file) || done.has(file)) return;
      for (const specifier of valueImportsOf(sources.get(file) ?? "")) {
        if (specifier.startsWith(".")) visit(path.posix.join(path.posix.dirname(file), specifier), [...trail, file]);
      }
      done.add(file);
    };
    for (const file of sources.keys()) visit(file, []);
    expect(circles).toEqual([]);
  });

  it("comes from a folder that has a row of its own", () => {
    const folders = new Set([...sources.keys()].map((file) => path.posix.dirname(file)));
    const rows = new Set(ROOMS.flatMap(({ places }) => places));
    expect([...folders].filter((folder) => !rows.has(folder))).toEqual([]);
  });

  it("is found: the files of this repository have many", () => {
    const found = [...sources.values()].reduce((total, source) => total + importsOf(source).length, 0);
    expect(found).toBeGreaterThan(1_000);
  });
});

describe("the guard", () => {
  const planted = ROOMS.flatMap((room) => room.places.map((place) => ({ room, place })));

  it.each(planted)("finds what is planted in $place", ({ room, place }) => {
    const file = place.endsWith(".ts") ? place : `${place}/planted.ts`;
    for (const other of ROOMS) {
      if (other === room) continue;
      const folder = other.places.find((one) => !one.endsWith(".ts"));
      const target = folder === undefined ? nameOf(other) : `${folder}/planted.ts`;
      const [specifier] = importsOf(`import { planted } from "${relative(file, target)}";\n`);
      const isAllowed = allows(room, other);
      expect([file, target, wrongWith(file, specifier ?? "") === null]).toEqual([file, target, isAllowed]);
    }
    for (const name of ["hono", "zod", "drizzle-orm", "cloudflare:workers", "node:fs", "react"]) {
      const [specifier] = importsOf(`import ${JSON.stringify(name)};\n`);
      expect([file, name, wrongWith(file, specifier ?? "") === null]).toEqual([
        file,
        name,
        room.packages.includes(packageOf(name)),
      ]);
    }
  });

  it("finds an import that is a type, goes over several lines, is dynamic, or only passes on", () => {
    const file = "durable-objects/store/planted.ts";
    for (const source of [
      'import type { App } from "../../src/app.ts";',
      'import {\n  app,\n  other,\n} from "../../src/app.ts";',
      'const app = await import("../../src/app.ts");',
      'export { app } from "../../src/app.ts";',
      'import "../../src/app.ts";',
      'import * as hono from "hono";',
    ]) {
      expect([source, importsOf(source).map((one) => wrongWith(file, one) !== null)]).toEqual([source, [true]]);
    }
  });

  it("knows nothing below the words that all rules share", () => {
    for (const room of ROOMS) {
      if (nameOf(room) !== "domain/words")
        expect(wrongWith("domain/words/planted.ts", `../../${nameOf(room)}/x.ts`)).not.toBeNull();
    }
  });

  it("fails a file in a folder that has no row", () => {
    expect(wrongWith("helpers/planted.ts", "../domain/job.ts")).toContain("no room");
  });
});
