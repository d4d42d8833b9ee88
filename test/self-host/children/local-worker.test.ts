// The environment of the worker beside a server.

import { expect, it } from "vitest";
import { environmentOf } from "../../../self-host/children/local-worker.ts";

const WORKER = { url: "http://192.0.2.7:8787", key: "sb_1" };

it("has the worker's address and key, and no secret of the server's", () => {
  const own = { PATH: "/bin", SERVICE_ROOT_KEY: "root", SERVICE_SIGNING_SECRET: "signing", SERVICE_API_KEY: "another" };
  expect(environmentOf(WORKER, own)).toEqual({
    PATH: "/bin",
    SERVICE_API_URL: WORKER.url,
    SERVICE_API_KEY: WORKER.key,
    no_proxy: "192.0.2.7",
  });
});

it("leads to the coordinator by no proxy, and where its operator says so", () => {
  const own = { HTTP_PROXY: "http://proxy.test", NO_PROXY: "gpu.test" };
  expect(environmentOf(WORKER, own)).toMatchObject({ no_proxy: "192.0.2.7,gpu.test" });
  expect(environmentOf(WORKER, { ...own, no_proxy: "a.test" })).toMatchObject({ no_proxy: "192.0.2.7,a.test" });
});
