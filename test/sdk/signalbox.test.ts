// The SDK against a scripted coordinator: methods that take more than one request.

import { describe, expect, it, vi } from "vitest";
import { ApiProblem, type JobStreamEvent, Signalbox } from "../../sdk/signalbox.ts";

type Handler = (request: Request) => Response | Promise<Response>;

const signalbox = (handle: Handler) => {
  const seen: string[] = [];
  const client = new Signalbox({
    url: "http://box",
    key: "sb_1",
    fetch: async (input, init) => {
      const request = new Request(input, init);
      seen.push(`${request.method} ${request.url.slice("http://box".length)}`);
      return handle(request);
    },
  });
  return { client, seen };
};

const job = (status: string, more: object = {}) => Response.json({ id: "j1", status, ...more });

const events = (...frames: string[]): Response =>
  new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });

const collect = async (stream: AsyncIterable<JobStreamEvent>): Promise<JobStreamEvent[]> => {
  const all: JobStreamEvent[] = [];
  for await (const event of stream) all.push(event);
  return all;
};

describe("jobs.run", () => {
  it("creates and waits over as many slices as it takes", async () => {
    const statuses = ["pending", "running", "completed"];
    const { client, seen } = signalbox(({ method }) => job(method === "POST" ? "pending" : (statuses.shift() ?? "")));
    expect(await client.jobs.run({ prompt: "hi" })).toMatchObject({ status: "completed" });
    expect(seen).toEqual(["POST /api/jobs", ...Array.from({ length: 3 }, () => "GET /api/jobs/j1?wait=25")]);
  });

  it("goes on where the service was away meanwhile", async () => {
    vi.useFakeTimers();
    try {
      let looks = 0;
      const { client } = signalbox(({ method }) => {
        if (method === "POST") return job("pending");
        looks += 1;
        if (looks > 40) return job("completed");
        return looks % 2 === 0 ? new Response("<html>", { status: 502 }) : Promise.reject(new TypeError("refused"));
      });
      const waited = client.jobs.run({ prompt: "hi" });
      await vi.advanceTimersByTimeAsync(120_000);
      expect(await waited).toMatchObject({ status: "completed" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends within ten minutes where the service stays away, and at once where its key is wrong", async () => {
    vi.useFakeTimers();
    try {
      const { client } = signalbox(() => Promise.reject(new TypeError("refused")));
      const waited = client.jobs.wait("j1").catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(610_000);
      expect(await waited).toMatchObject({ code: "unreachable" });
      const keyless = new Signalbox({ url: "http://box", key: "ключ" });
      await expect(keyless.jobs.wait("j1")).rejects.toMatchObject({ code: "authentication_failed" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends when its caller leaves while the service is away", async () => {
    const leave = new AbortController();
    const { client } = signalbox(() => Promise.reject(new TypeError("refused")));
    setTimeout(() => leave.abort(), 3_000);
    const startedAt = Date.now();
    await expect(client.jobs.wait("j1", { signal: leave.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(Date.now() - startedAt).toBeLessThan(3_900);
  });

  it("ends when its caller leaves", async () => {
    const leave = new AbortController();
    const { client } = signalbox(({ method, signal }) => {
      if (method === "POST") return job("pending");
      setTimeout(() => leave.abort(), 10);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    await expect(client.jobs.run({ prompt: "hi" }, { signal: leave.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});

describe("jobs.stream", () => {
  it("brings each chunk of a new job, and ends with its end", async () => {
    const bodies: unknown[] = [];
    const { client, seen } = signalbox(async (request) => {
      if (request.method === "POST") {
        bodies.push(await request.json());
        return job("pending");
      }
      return events(
        ": keep-alive\n\n",
        'event: chunk\r\nid: 1.1\r\ndata: {"text": "he"}\r\n\r\n',
        'event: chunk\nid: 1.2\ndata: {"text":\ndata: "llo"}\n\n',
        'event: end\ndata: {"status": "completed"}\n\nevent: chunk\ndata: "late"\n\n',
      );
    });
    expect(await collect(client.jobs.stream({ prompt: "hi" }))).toEqual([
      { type: "chunk", id: "1.1", data: { text: "he" } },
      { type: "chunk", id: "1.2", data: { text: "llo" } },
      { type: "end", id: "1.2", data: { status: "completed" } },
    ]);
    expect(bodies).toEqual([{ prompt: "hi", stream: true }]);
    expect(seen).toEqual(["POST /api/jobs", "GET /api/jobs/j1/stream"]);
  });

  it("brings the whole text of a job that had ended before its stream was opened", async () => {
    const done = { id: "j1", status: "completed", api: null, result: { text: "hello" } };
    const end = 'event: end\ndata: {"status": "completed"}\n\n';
    const { client } = signalbox(({ url }) => (url.endsWith("/stream") ? events(end) : Response.json(done)));
    expect(await collect(client.jobs.stream("j1"))).toEqual([
      { type: "chunk", id: "", data: { text: "hello" } },
      { type: "end", id: "", data: { status: "completed" } },
    ]);
  });

  it("goes on after the last event that it saw when the connection breaks", async () => {
    const answers = [
      events("event: chunk\nid: 1.1\ndata: a\n\nevent: chunk\nid: 1.2\nda"),
      events("event: end\ndata: {}\n\n"),
    ];
    const asked: (string | null)[] = [];
    const { client } = signalbox(({ headers }) => {
      asked.push(headers.get("last-event-id"));
      return answers.shift() ?? events();
    });
    const types = (await collect(client.jobs.stream("j1"))).map(({ type, data }) => [type, data]);
    expect(types).toEqual([
      ["chunk", "a"],
      ["end", {}],
    ]);
    expect(asked).toEqual([null, "1.1"]);
  });

  it("goes on after the last event where the service was away meanwhile", async () => {
    vi.useFakeTimers();
    try {
      let looks = 0;
      const { client } = signalbox(() => {
        looks += 1;
        if (looks === 1) return events("event: chunk\nid: 1.1\ndata: a\n\n");
        if (looks < 20) return Promise.reject(new TypeError("refused"));
        return events("event: chunk\nid: 1.2\ndata: b\n\nevent: end\ndata: {}\n\n");
      });
      const read = collect(client.jobs.stream("j1"));
      await vi.advanceTimersByTimeAsync(60_000);
      expect((await read).map(({ data }) => data)).toEqual(["a", "b", {}]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives up where nothing comes any more, and says what to do", async () => {
    const { client, seen } = signalbox(() => events());
    await expect(collect(client.jobs.stream("j1"))).rejects.toThrow("read the job itself");
    expect(seen).toHaveLength(3);
  });

  it("says when what was missed is gone", async () => {
    const gone = { title: "Gone", status: 410, code: "stream_gone", detail: "read the job", instance: "r" };
    const { client } = signalbox(
      () =>
        new Response(JSON.stringify(gone), { status: 410, headers: { "content-type": "application/problem+json" } }),
    );
    const error = await collect(client.jobs.stream("j1", { lastEventId: "1.5" })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiProblem);
    expect(error).toMatchObject({ code: "stream_gone" });
  });
});

describe("a result over 1 MiB", () => {
  const large = (content: () => Response) =>
    signalbox(({ url }) =>
      url.endsWith("/content")
        ? content()
        : job("completed", { result: null, result_file: { id: "file-1", bytes: 9 } }),
    );

  it("is read as if it stood in the job", async () => {
    const { client, seen } = large(() => Response.json({ text: "long" }));
    expect((await client.jobs.run({ prompt: "hi" })).result).toEqual({ text: "long" });
    expect((await client.jobs.get("j1")).result_file).toEqual({ id: "file-1", bytes: 9 });
    expect(seen.filter((one) => one === "GET /api/files/file-1/content")).toHaveLength(2);
  });

  it("that has ended leaves the job as it is", async () => {
    const { client } = large(() => Response.json({ code: "not_found" }, { status: 404 }));
    expect((await client.jobs.get("j1")).result).toBe(null);
  });
});

it("a result over 1 MiB that breaks off is read again by run", async () => {
  let reads = 0;
  const { client } = signalbox(({ method, url }) => {
    if (method === "POST") return job("pending");
    if (!url.endsWith("/content")) return job("completed", { result: null, result_file: { id: "file-1", bytes: 9 } });
    reads += 1;
    const broken = new ReadableStream({ start: (control) => control.error(new TypeError("terminated")) });
    return reads === 1 ? new Response(broken) : Response.json({ text: "long" });
  });
  expect((await client.jobs.run({ prompt: "hi" })).result).toEqual({ text: "long" });
});

describe("files", () => {
  it("are sent as they are, with what is known of them", async () => {
    const sent: unknown[] = [];
    const { client, seen } = signalbox(async (request) => {
      sent.push([request.headers.get("content-type"), await request.text()]);
      return Response.json({ id: "file-1" });
    });
    const asked = { name: "a b.txt", purpose: "batch", expiresAfterSeconds: 3_600 };
    await client.files.create(new Blob(["one"], { type: "text/plain" }), asked);
    expect(seen).toEqual(["POST /api/files?name=a+b.txt&purpose=batch&expires_after_seconds=3600"]);
    expect(sent).toEqual([["text/plain", "one"]]);
  });

  it("that stream are never sent twice, because the first try has read them", async () => {
    const { client, seen } = signalbox(() => Response.json({ code: "rate_limited" }, { status: 429 }));
    const bytes = new Response("x").body as ReadableStream<Uint8Array>;
    await expect(
      client.tenants.writeFile("t", "file-1", bytes, { until: "2030-01-01T00:00:00Z" }),
    ).rejects.toMatchObject({ status: 429 });
    expect(seen).toHaveLength(1);
  });
});
