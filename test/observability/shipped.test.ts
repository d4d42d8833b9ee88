// The dashboard and the alert rules that are shipped: they ask for metrics that a server has, and Prometheus' own tool
// takes them.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
interface Panel {
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Variable {
  readonly name: string;
  readonly type: string;
}

const ALERTS = "docs/observability/alerts.yaml";
const { groups } = parse(read(ALERTS)) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("docs/observability/grafana.json")) as {
  panels: Panel[];
  templating: { list: Variable[] };
};
const panels = dashboard.panels.filter(({ type }) => type !== "row");

const namesIn = (text: string): string[] => [...text.matchAll(/\bsignalbox_\w+/g)].map(([name]) => name);
/** A histogram's family has three kinds of series. */
const familyOf = (name: string): string => name.replace(/_(bucket|sum|count)$/, "");

const folder = folderForAllTests();
let server: SelfHosted;
beforeAll(async () => {
  server = await startSelfHosted(folder.path);
}, 90_000);
afterAll(async () => {
  await server.stop();
});

const metricsWith = async (key: string): Promise<string> => {
  const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
  return answer.text();
};
const rootKey = (): string => readFileSync(path.join(folder.path, "root.key"), "utf8").trim();
const familiesOf = (text: string): Set<string> =>
  new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name));

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
const promtool = (args: readonly string[], input?: string) => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: ROOT, encoding: "utf8", input });
  return { status, said: stdout + stderr };
};

describe("what they ask for", () => {
  it("is on /metrics, with a tenant's key and with the root key", async () => {
    const asked = new Set(
      [...rules.map(({ expr }) => expr), ...panels.map((panel) => JSON.stringify(panel))].flatMap(namesIn),
    );
    expect(asked.size).toBeGreaterThan(20);
    const ofDeployment = familiesOf(await metricsWith(rootKey()));
    const ofTenant = familiesOf(await metricsWith(server.adminKey));
    expect([...asked].filter((name) => !ofDeployment.has(familyOf(name)))).toEqual([]);
    const alarming = rules.flatMap(({ expr }) => namesIn(expr));
    expect(alarming.filter((name) => !ofTenant.has(familyOf(name)))).toEqual([]);
  });

  it("covers every tenant under its name, with the root key", async () => {
    const key = rootKey();
    await send({ url: server.url, key }, "POST", "/admin/tenants", { tenant: "acme" });
    await send({ url: server.url, key: server.adminKey }, "POST", "/api/jobs", { prompt: "x" });
    const lines = (await metricsWith(key)).split("\n");
    expect(lines).toContain('signalbox_queue_jobs{tenant="default"} 1');
    expect(lines).toContain('signalbox_queue_jobs{tenant="acme"} 0');
    expect(lines).toContain("signalbox_tenants 2");
    expect(lines).toContain("signalbox_tenants_unread 0");
  });
});

describe("the alert rules", () => {
  it("say how bad it is and what is wrong, each", () => {
    for (const { alert, labels, annotations } of rules) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(warning|critical)$/)]);
      expect([alert, annotations.summary?.length]).toEqual([alert, expect.any(Number)]);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it.each(["attempts_total", "queue_jobs", "queue_oldest", "workers", "budget_left", "disk_free", "killswitch_level"])(
    "watch signalbox_%s",
    (name) => {
      expect(rules.some(({ expr }) => expr.includes(`signalbox_${name}`))).toBe(true);
    },
  );

  it("have a test, each", () => {
    const tested = read("test/observability/alerts.promtool.yaml");
    expect(rules.filter(({ alert }) => !tested.includes(`alertname: ${alert}\n`))).toEqual([]);
  });

  it.skipIf(!hasPromtool)("fire when they should and not otherwise, by Prometheus' own tool", () => {
    expect(promtool(["check", "rules", ALERTS])).toMatchObject({ status: 0 });
    expect(promtool(["test", "rules", "test/observability/alerts.promtool.yaml"])).toMatchObject({ status: 0 });
  });
});

describe("the Grafana dashboard", () => {
  it("takes its data source as a variable, in every panel", () => {
    const variables = dashboard.templating.list;
    const source = variables.find(({ type }) => type === "datasource");
    expect(panels.filter(({ datasource }) => datasource?.uid !== `\${${source?.name}}`)).toEqual([]);
    expect(variables.map(({ name }) => name)).toContain("tenant");
  });

  it("gives a unit on every panel", () => {
    expect(panels.length).toBeGreaterThan(15);
    expect(panels.filter(({ fieldConfig }) => !fieldConfig?.defaults.unit).map(({ title }) => title)).toEqual([]);
  });
});

it.skipIf(!hasPromtool)("/metrics is text that Prometheus reads without a complaint", async () => {
  for (const key of [rootKey(), server.adminKey])
    expect(promtool(["check", "metrics"], await metricsWith(key))).toEqual({ status: 0, said: "" });
});
