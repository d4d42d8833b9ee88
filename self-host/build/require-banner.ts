/**
 * The first line of a bundle: CommonJS packages inside it load Node's modules by `require`, for which any place will
 * do: bundled again as CommonJS, a module has no address.
 */
export const REQUIRE =
  'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url ?? process.execPath);';
