import fc from "fast-check";
import { expect, it } from "vitest";
import { Allowance } from "../../../domain/words/allowance.ts";

it("work that began never takes more than there is, however much of it runs at once", () => {
  const max = { queries: 100, requests: 150 };
  const worst = { queries: 7, requests: 11 };
  const step = fc.constantFrom("begin", "query", "request", "end");
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const allowance = new Allowance(max);
      const running: { queries: number; requests: number }[] = [];
      for (const one of steps) {
        const [work] = running;
        if (one === "begin" && allowance.hold(worst)) running.push({ ...worst });
        if (one === "query" && work !== undefined && work.queries > 0 && work.requests > 0) {
          work.queries -= 1;
          work.requests -= 1;
          allowance.spendQueries(1);
        }
        if (one === "request" && work !== undefined && work.requests > 0) {
          work.requests -= 1;
          allowance.spendRequest();
        }
        if (one === "end" && running.shift() !== undefined) allowance.release(worst);
        expect(allowance.spent.queries).toBeLessThanOrEqual(max.queries);
        expect(allowance.spent.requests).toBeLessThanOrEqual(max.requests);
      }
    }),
  );
});

it("what work held and did not need is there for the next", () => {
  const allowance = new Allowance({ queries: 10, requests: 10 });
  const worst = { queries: 6, requests: 6 };
  expect([allowance.hold(worst), allowance.hold(worst)]).toEqual([true, false]);
  allowance.spendQueries(1);
  allowance.release(worst);
  expect(allowance.hold(worst)).toBe(true);
});

it("work may take all that there is, of queries and of requests, and not one more", () => {
  const max = { queries: 3, requests: 5 };
  const fits = (queries: number, requests: number): boolean => new Allowance(max).hold({ queries, requests });
  expect([fits(3, 5), fits(4, 4), fits(0, 6), fits(4, 6)]).toEqual([true, false, false, false]);
});

it("counts what was asked: a query is a request as well", () => {
  const allowance = new Allowance({ queries: 9, requests: 9 });
  expect(allowance.spent).toEqual({ queries: 0, requests: 0 });
  allowance.spendRequest();
  allowance.spendQueries(2);
  expect(allowance.spent).toEqual({ queries: 2, requests: 3 });
});
