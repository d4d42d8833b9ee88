// What commands say and refuse beside what the service answers.

import { describe, expect, it } from "vitest";
import { UsageError } from "../../cli/failure.ts";
import { runCommand } from "./run-command.ts";

const run = (argv: readonly string[], answer: object) => runCommand(argv, () => answer);

describe("a list of which only the newest part is shown", () => {
  const job = { id: "j1", status: "pending", assigned_worker: null, created_at: "", prompt: "hi", error: null };

  it.each([
    [["jobs", "list"], "jobs", job, "The newest 1 of 260; --all lists every page.\n"],
    [["schedules", "history", "s"], "history", {}, "The newest 1 of 260; --all lists every page.\n"],
    [["catalog", "history", "s"], "history", {}, "The newest 1 of 260; --all lists every page.\n"],
    [["webhooks", "deliveries", "w"], "deliveries", {}, "The newest 1 of 260; --all lists every page.\n"],
    [["batch", "list"], "batches", {}, "The newest 1 of 260; --all lists every page.\n"],
  ])("says so: %j", async (argv, rows, row, says) => {
    const { out, err } = await run(argv, { [rows]: [row], total: 260 });
    expect(err).toBe(says);
    expect(out.split("\n")).toHaveLength(2);
    expect((await run(argv, { [rows]: [row], total: 1 })).err).toBe("");
  });
});

it("keys limit prints the changed key as JSON", async () => {
  const key = { id: "key_1", name: "gpu box", weight: 2, limits: null };
  const argv = ["keys", "limit", "key_1", "--weight", "2"];
  const answer = ({ pathname }: URL) => (pathname === "/api/keys" ? { keys: [key] } : key);
  expect((await runCommand(argv, answer)).out).toBe("");
  expect(JSON.parse((await runCommand([...argv, "--json"], answer)).out)).toEqual(key);
});

it("keys limit takes a limit away with the word none, and leaves the others", async () => {
  const key = {
    id: "key_1",
    weight: 1,
    limits: { day_usd: 2, concurrent: 3, models: ["m1"], per_user: { concurrent: 1, day_usd: 1 } },
  };
  let body: unknown;
  const argv = ["keys", "limit", "key_1", "--day-usd", "none", "--model", "none", "--user-concurrent", "none"];
  await runCommand(argv, ({ pathname }, init) => {
    if (pathname === "/api/keys") return { keys: [key] };
    body = JSON.parse(String(init.body));
    return key;
  });
  const per_user = { concurrent: null, day_usd: 1 };
  expect(body).toEqual({ limits: { day_usd: null, concurrent: 3, models: null, per_user } });
});

it.each([
  ["enable", true],
  ["disable", false],
])("webhooks %s turns it on or off", async (word, enabled) => {
  let body: unknown;
  await runCommand(["webhooks", word, "wh_1"], (_url, init) => {
    body = JSON.parse(String(init.body));
    return { id: "wh_1", enabled, events: [], tags: [], failing_since: null };
  });
  expect(body).toEqual({ enabled });
});

it("keys create takes the models that a key may use, and keeps it from hosted providers", async () => {
  const bodies: string[] = [];
  const argv = ["keys", "create", "ann", "--model", "gpt-5*", "--model", "llama3.2", "--edge", "no", "--day-usd", "2"];
  await runCommand(argv, (_url, { body }) => {
    bodies.push(String(body));
    return { id: "key_1", name: "ann", role: "worker", key: "k" };
  });
  const limits = { day_usd: 2, models: ["gpt-5*", "llama3.2"], edge: false };
  expect(bodies.map((body) => JSON.parse(body))).toEqual([{ name: "ann", role: "worker", limits }]);
});

it("config set prints the config as JSON where that is asked for, of a YAML file, too", async () => {
  const config = { jobs: { timeout_seconds: 900 } };
  const answer = (_url: URL, { headers }: RequestInit) =>
    new Headers(headers).get("accept") === "application/json"
      ? config
      : new Response("jobs: {}\n", { headers: { "content-type": "application/yaml" } });
  const { out } = await runCommand(["config", "set", "config.yaml", "--json"], answer);
  expect(JSON.parse(out)).toEqual(config);
  expect((await runCommand(["config", "set", "config.yaml"], answer)).out).toBe("jobs: {}\n");
});

describe("workers list", () => {
  const worker = { instance: "w1", status: "idle", provider: "p", current_load: 0, concurrency: 1, tags: "" };

  it("asks for one page of those that match, and says how to see the others", async () => {
    const asked: URL[] = [];
    const argv = ["workers", "list", "--provider", "ollama", "--status", "paused", "--tag", "gpu"];
    const { err } = await runCommand(argv, (url) => {
      asked.push(url);
      return { workers: [worker], total: 1952 };
    });
    expect(asked.map(({ search }) => search)).toEqual(["?provider=ollama&tag=gpu&state=paused"]);
    expect(err).toBe("The newest 1 of 1952; --all lists every page.\n");
  });

  it("refuses a status that no worker has", async () => {
    await expect(run(["workers", "list", "--status", "asleep"], {})).rejects.toThrow("--status is one of failing,");
  });
});

describe("cost by key", () => {
  const sums = { usd: 1.5, jobs: 3, unpriced_jobs: 0 };
  const rows = [
    { value: "key_1", ...sums },
    { value: null, ...sums },
  ];
  const cost = { from: "a", to: "b", total_usd: 3, rows };

  it("names the keys where they may be listed", async () => {
    const keys = [{ id: "key_1", name: "gpu box" }];
    const { out } = await runCommand(["cost", "--by", "key"], ({ pathname }) =>
      pathname === "/api/keys" ? { keys } : cost,
    );
    expect(out).toBe("key_1\t1.5000\t3\t0\tgpu box\n(none)\t1.5000\t3\t0\t\n");
  });

  it("lists the ids alone where they may not", async () => {
    const { out } = await runCommand(["cost", "--by", "key"], ({ pathname }) =>
      pathname === "/api/keys" ? Response.json({ title: "Forbidden", code: "forbidden" }, { status: 403 }) : cost,
    );
    expect(out).toBe("key_1\t1.5000\t3\t0\n(none)\t1.5000\t3\t0\n");
  });
});

it("cost is shown to the nano-dollar, and with four decimals at least", async () => {
  const rows = [12_345.678901234, 0.000000021, 1e-9, 0.25, 0].map((usd) => ({
    value: "x",
    usd,
    jobs: 1,
    unpriced_jobs: 0,
  }));
  const { out } = await runCommand(["cost", "--by", "tag"], () => ({ from: "a", to: "b", total_usd: 3e-7, rows }));
  const shown = out.split("\n").flatMap((line) => line.split("\t")[1] ?? []);
  expect(shown).toEqual(["12345.678901234", "0.000000021", "0.000000001", "0.2500", "0.0000"]);
});

describe("audit", () => {
  it("asks for what the filters name, and lists a line each", async () => {
    const asked: URL[] = [];
    const argv = ["audit", "--action", "key", "--actor", "alice", "--since", "2026-01-31", "--limit", "5"];
    const entry = { at: "2026-01-31T09:00:00.000Z", actor: { name: "alice" }, action: "key.created", target: "k1" };
    const { out } = await runCommand(argv, (url) => {
      asked.push(url);
      return { entries: [{ ...entry, detail: { role: "viewer" } }], total: 1 };
    });
    expect(out).toBe('2026-01-31T09:00:00.000Z\talice\tkey.created\tk1\t{"role":"viewer"}\n');
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
      action: "key",
      actor: "alice",
      since: "2026-01-31T00:00:00Z",
      limit: "5",
    });
  });
});

describe("open", () => {
  it("prints the address of the page that is named", async () => {
    expect((await run(["open"], {})).out).toBe("http://127.0.0.1:8787/#/\n");
    const id = "01a206b7-c86f-7000-9aa5-e0a348136c66";
    expect((await run(["open", id, "--print"], {})).out).toBe(`http://127.0.0.1:8787/#/jobs/${id}\n`);
    expect((await run(["open", "workers", "a/b"], {})).out).toBe("http://127.0.0.1:8787/#/fleet/a%2Fb\n");
    expect((await run(["open", "batches", "batch_1"], {})).out).toBe("http://127.0.0.1:8787/#/batches/batch_1\n");
    expect(JSON.parse((await run(["open", "cost", "--json"], {})).out)).toEqual({
      address: "http://127.0.0.1:8787/#/cost",
    });
    await expect(run(["open", "fleet"], {})).rejects.toThrow('there is no page "fleet": give one of overview, jobs');
    await expect(run(["open", "cost", "x"], {})).rejects.toThrow("the page cost takes no name");
  });
});

describe("people", () => {
  const person = { id: "person_1", name: "Ada", email: "ada@x.example", role: "viewer", blocked: true };

  it("lists them with their role, and the rules that give it", async () => {
    const { out } = await run(["people", "list"], {
      people: [{ ...person, last_seen_at: "2026-01-31T09:00:00.000Z" }],
    });
    expect(out).toBe("person_1\tAda\tada@x.example\tviewer\t2026-01-31T09:00:00.000Z\tyes\n");
    const roles = [
      { claim: "groups", has: "ops", role: "admin" },
      { claim: "email", matches: "*@x.example", role: "viewer" },
    ];
    expect((await run(["people", "roles"], { roles, from: "tenant" })).out).toBe(
      "groups\thas ops\tadmin\nemail\tmatches *@x.example\tviewer\n",
    );
    expect((await run(["people", "roles"], { roles: [], from: "none" })).err).toContain("No rule");
  });

  it.each([
    [["people", "block", "person_1"], "POST /api/people/person_1/block"],
    [["people", "unblock", "person_1"], "POST /api/people/person_1/unblock"],
    [["people", "sign-out", "person_1"], "DELETE /api/people/person_1/sessions"],
  ])("%j asks for it", async (argv, asks) => {
    const asked: string[] = [];
    await runCommand(argv, (url, { method }) => {
      asked.push(`${method} ${url.pathname}`);
      return method === "DELETE" ? new Response(null, { status: 204 }) : person;
    });
    expect(asked).toEqual([asks]);
  });
});

describe("explain", () => {
  it("says that it lists only a part of the fleet", async () => {
    const workers = [{ instance: "w1", provider: "p", eligible: true, score: 1, reasons: [] }];
    const { err } = await run(["explain"], { workers, total: 1952, selected: "w1", notes: [] });
    expect(err).toBe("1 of 1952 workers are listed; --limit lists more.\nw1 would get it.\n");
  });
});

describe("run", () => {
  it("passes on files, metadata, the time and the timeout", async () => {
    let body: unknown;
    const argv = ["run", "hi", "--metadata", "team=a=b", "--metadata", "env=ci", "--timeout", "30"];
    const files = ["--file", "file-1", "--file", "file-2"];
    await runCommand([...argv, ...files, "--run-at", "2030-01-01T00:00:00Z"], (_url, init) => {
      body = JSON.parse(String(init.body));
      return { id: "j1" };
    });
    expect(body).toEqual({
      prompt: "hi",
      files: ["file-1", "file-2"],
      metadata: { team: "a=b", env: "ci" },
      run_at: "2030-01-01T00:00:00Z",
      timeout_seconds: 30,
    });
    await expect(run(["run", "hi", "--metadata", "team"], {})).rejects.toThrow("--metadata takes name=value");
  });

  it("says what the worker stored, which the result may only name, and so does jobs get", async () => {
    const stored = [{ id: "file-9", name: "picture.png", bytes: 8, content_type: "image/png" }];
    const job = { id: "j1", status: "completed", result: { file: "picture.png" }, error: null, result_files: stored };
    const { out, err } = await run(["run", "a cat", "--wait"], job);
    expect(JSON.parse(out)).toEqual({ file: "picture.png" });
    expect(err).toBe("Stored picture.png: signalbox files get file-9 --output <file>\n");
    expect((await run(["jobs", "get", "j1"], { ...job, files: ["file-1"] })).out).toMatch(
      /^files\tfile-1\n(?:.*\n)*stored\tfile-9 picture\.png\n/m,
    );
  });
});

describe("jobs retry and cancel with --filter", () => {
  const service = (bodies: unknown[]) => (url: URL, init: RequestInit) => {
    const body = JSON.parse(String(init.body));
    if (url.pathname !== "/api/jobs/bulk") throw new Error(url.pathname);
    if (body.dry_run) return { matched: 4, changed: 0, refused: { job_state: 1 }, remaining: 3 };
    bodies.push(body);
    return { matched: 4, changed: bodies.length === 1 ? 2 : 1, refused: {}, remaining: bodies.length === 1 ? 1 : 0 };
  };
  const argv = ["jobs", "retry", "--filter", "provider=openai", "--filter", "metadata.team=a"];

  it("changes what matched, until nothing remains", async () => {
    const bodies: unknown[] = [];
    const { out, code } = await runCommand([...argv, "--yes"], service(bodies));
    const filter = { provider: "openai", "metadata.team": "a", status: "failed" };
    expect(bodies).toEqual([
      { action: "retry", filter, expected: 4 },
      { action: "retry", filter },
    ]);
    expect([out, code]).toEqual(["3 changed, 0 refused\n", 0]);
  });

  it("changes nothing that nobody confirmed", async () => {
    const bodies: unknown[] = [];
    await expect(runCommand(argv, service(bodies))).rejects.toThrow("there is no terminal to ask on: give --yes");
    const questions: string[] = [];
    const no = async (question: string) => questions.push(question) === 0;
    await expect(runCommand(argv, service(bodies), no)).rejects.toThrow("Nothing was changed.");
    expect(questions).toEqual(["Retry 3 jobs? [y/N] "]);
    expect(bodies).toEqual([]);
    await runCommand(argv, service(bodies), async () => true);
    expect(bodies).toHaveLength(2);
  });

  it("--dry-run counts by status, and changes and asks nothing", async () => {
    const bodies: unknown[] = [];
    const { out, err, code } = await runCommand([...argv, "--dry-run"], service(bodies));
    expect([out, err, code]).toEqual(["failed\t3\n", "Nothing was changed.\n", 0]);
    expect(bodies).toEqual([]);
    const none = await runCommand([...argv, "--dry-run"], () => ({
      jobs: [],
      total: 0,
      total_is_capped: false,
      next_cursor: null,
    }));
    expect([none.out, none.err, none.code]).toEqual(["", "No job matches.\n", 0]);
    await expect(run(["jobs", "retry", "j1", "--dry-run"], {})).rejects.toThrow(
      "--dry-run counts the jobs of --filter",
    );
  });

  it("takes a filter's times as every flag does", async () => {
    const bodies: { filter: { since: string } }[] = [];
    await runCommand([...argv, "--filter", "since=2h", "--yes"], service(bodies));
    const agoMs = Date.now() - Date.parse(bodies[0]?.filter.since ?? "");
    expect(Math.round(agoMs / 3_600_000)).toBe(2);
    await expect(run(["jobs", "retry", "--filter", "until=soon"], {})).rejects.toThrow("--filter until= takes a time");
  });

  it("names what a filter takes, and asks nothing, where a name is none", async () => {
    for (const name of ["colour", "limit", "cursor"]) {
      const failed = run(["jobs", "retry", "--filter", `${name}=1`], {});
      await expect(failed).rejects.toThrow(
        /^--filter takes status, provider, .*, q and metadata\.<name>, not "(colour|limit|cursor)"$/,
      );
    }
  });

  it("takes ids or a filter, not both and not neither", async () => {
    for (const words of [["j1", "--filter", "status=failed"], []])
      await expect(run(["jobs", "cancel", ...words], {})).rejects.toThrow("give ids, or --filter");
  });
});

describe("what would do something else than it says", () => {
  it.each([
    [["killswitch", "on", "0", "--reason", "calm"], "killswitch off"],
    [["explain", "--job", "j1", "--tag", "gpu"], "leave out the other flags"],
  ])("is wrong usage: %j", async (argv, says) => {
    await expect(run(argv, {})).rejects.toThrow(says);
    await expect(run(argv, {})).rejects.toThrow(UsageError);
  });
});

describe("what an operator must see", () => {
  const worker = { instance: "w1", status: "idle", provider: "ollama", current_load: 0, concurrency: 1, tags: "" };

  it("is a worker whose runtime is down, although it is idle", async () => {
    const unavailable = "the runtime does not answer";
    const down = { ...worker, paused: false, unavailable };
    const { out } = await run(["workers", "list"], { workers: [down], total: 1 });
    expect(out).toContain("w1\tidle, unavailable\tollama");
    expect((await run(["workers", "get", "w1"], down)).out).toContain(`unavailable\t${unavailable}`);
    const both = { ...down, paused: true };
    expect((await run(["workers", "list"], { workers: [both], total: 1 })).out).toContain("idle, paused, unavailable");
  });

  it("is how to resume the workers after a clear that leaves them paused", async () => {
    const off = { level: 0, active: false };
    expect((await run(["killswitch", "off"], off)).err).toContain("killswitch off --resume-all");
    expect((await run(["killswitch", "off", "--resume-all"], off)).err).toBe("");
  });

  it("is how to go on, when the killswitch is engaged", async () => {
    const on = { level: 4, active: true, unconfirmed: [] };
    const { err } = await run(["killswitch", "on", "4", "--reason", "drill"], on);
    expect(err).toContain("signalbox killswitch off --resume-all");
  });

  it("is which workers have not confirmed a halt", async () => {
    const state = {
      level: 4,
      active: true,
      halted_jobs: 2,
      confirmed_workers: 1,
      workers_to_confirm: 2,
      unconfirmed: [
        { instance: "gpu-1", status: "busy" },
        { instance: "laptop", status: "offline" },
      ],
    };
    const { out } = await run(["killswitch", "status"], state);
    expect(out).toContain("confirmed workers\t1 of 2\nnot confirmed\tgpu-1,laptop (offline)\n");
  });
});
