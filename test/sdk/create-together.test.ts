// Jobs that a program creates at the same time: how they travel, and what each call gets.

import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { JobResource, NewJobRequest } from "../../contract/jobs/job.ts";
import { CreateTogether } from "../../sdk/create-together.ts";

const resource = ({ prompt }: NewJobRequest): JobResource => ({ id: `job of ${prompt}` }) as JobResource;
const problem = (status: number, detail: string): ApiProblem =>
  new ApiProblem({ status, code: "invalid_request", title: "Invalid request", detail });

/** Each request is noted, and answered when `answer` is called, or at once with `isOpen`. */
const service = ({ isOpen = true, refuse = (_: readonly string[]): ApiProblem | null => null } = {}) => {
  const requests: string[][] = [];
  const answers: (() => void)[] = [];
  const request = async (jobs: readonly NewJobRequest[]): Promise<JobResource[]> => {
    const prompts = jobs.map(({ prompt = "" }) => prompt);
    requests.push(prompts);
    if (!isOpen) await new Promise<void>((resolve) => answers.push(resolve));
    const refused = refuse(prompts);
    if (refused !== null) throw refused;
    return jobs.map(resource);
  };
  const together = new CreateTogether({
    create: async (job) => (await request([job]))[0] as JobResource,
    createMany: async (jobs) => ({ jobs: await request(jobs) }),
  });
  return { create: together.create, requests, answer: () => answers.shift()?.() };
};

const ids = (jobs: readonly JobResource[]): string[] => jobs.map(({ id }) => id);

describe("jobs that are created at the same time", () => {
  it("travel in one request, and each call gets its own job", async () => {
    const { create, requests } = service();
    const jobs = await Promise.all(["a", "b", "c"].map((prompt) => create({ prompt })));
    expect(requests).toEqual([["a", "b", "c"]]);
    expect(ids(jobs)).toEqual(["job of a", "job of b", "job of c"]);
  });

  it("travel together again where each answer leads to the next job", async () => {
    const { create, requests } = service();
    const chain = async (name: string): Promise<void> => {
      for (const at of [1, 2, 3]) await create({ prompt: `${name}${at}` });
    };
    await Promise.all([chain("a"), chain("b")]);
    expect(requests).toEqual([
      ["a1", "b1"],
      ["a2", "b2"],
      ["a3", "b3"],
    ]);
  });

  it("wait two milliseconds for a request that is under way, and no longer", async () => {
    const { create, requests, answer } = service({ isOpen: false });
    const jobs = [create({ prompt: "a" })];
    await Promise.resolve();
    jobs.push(create({ prompt: "b" }), create({ prompt: "c" }));
    await Promise.resolve();
    expect(requests).toEqual([["a"]]);
    await expect.poll(() => requests).toEqual([["a"], ["b", "c"]]);
    for (const _ of jobs) answer();
    expect(ids(await Promise.all(jobs))).toEqual(["job of a", "job of b", "job of c"]);
  });

  it("are 500 in a request at most, and of a length that the service takes", async () => {
    const { create, requests } = service();
    await Promise.all(Array.from({ length: 501 }, (_, at) => create({ prompt: `${at}` })));
    expect(requests.map(({ length }) => length)).toEqual([500, 1]);
    await Promise.all([1, 2, 3].map(() => create({ prompt: "x".repeat(300_000) })));
    expect(requests.slice(2).map(({ length }) => length)).toEqual([2, 1]);
    // Each too long for one that is shared.
    await Promise.all([1, 2].map(() => create({ prompt: "x".repeat(800_000) })));
    expect(requests.slice(4).map(({ length }) => length)).toEqual([1, 1]);
  });
});

describe("a call", () => {
  it("alone is a request of its own", async () => {
    const { create, requests } = service();
    expect(await create({ prompt: "a" })).toEqual(resource({ prompt: "a" }));
    expect(requests).toEqual([["a"]]);
  });

  it("with an idempotency key of its caller is a request of its own", async () => {
    const { create, requests } = service();
    await Promise.all([
      create({ prompt: "a" }, { idempotencyKey: "k" }),
      create({ prompt: "b" }),
      create({ prompt: "c" }),
    ]);
    expect(requests).toEqual([["a"], ["b", "c"]]);
  });

  it("whose job is refused gets its own error, and the others their jobs", async () => {
    const { create, requests } = service({
      refuse: (prompts) => (prompts.includes("bad") ? problem(400, "the job is bad") : null),
    });
    const settled = await Promise.allSettled(["a", "bad", "c"].map((prompt) => create({ prompt })));
    expect(requests).toEqual([["a", "bad", "c"], ["a"], ["bad"], ["c"]]);
    expect(settled).toMatchObject([
      { value: { id: "job of a" } },
      { reason: { status: 400, message: expect.stringContaining("the job is bad") } },
      { value: { id: "job of c" } },
    ]);
  });

  it("is not repeated by itself where nobody knows whether its job exists", async () => {
    const { create, requests } = service({ refuse: () => problem(500, "lost") });
    const settled = await Promise.allSettled(["a", "b"].map((prompt) => create({ prompt })));
    expect(requests).toEqual([["a", "b"]]);
    expect(settled).toMatchObject([{ reason: { status: 500 } }, { reason: { status: 500 } }]);
  });

  it("that is aborted ends at once, and is not sent if it still waits", async () => {
    const { create, requests, answer } = service({ isOpen: false });
    const leave = new AbortController();
    const first = create({ prompt: "a" });
    await Promise.resolve();
    const left = create({ prompt: "b" }, { signal: leave.signal });
    const last = create({ prompt: "c" });
    leave.abort();
    await expect(left).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(() => requests).toEqual([["a"], ["c"]]);
    answer();
    answer();
    expect(ids(await Promise.all([first, last]))).toEqual(["job of a", "job of c"]);
  });

  it("leaves nothing behind at a signal that lives as long as the program", async () => {
    const { create } = service({
      refuse: (prompts) => (prompts.includes("bad") ? problem(400, "the job is bad") : null),
    });
    const { signal } = new AbortController();
    await Promise.allSettled(["a", "bad", "c"].map((prompt) => create({ prompt }, { signal })));
    await expect.poll(() => getEventListeners(signal, "abort")).toEqual([]);
  });
});
