// Builds the page into static files that a strict CSP allows: no inline script or style, no polyfill, nothing external.

import preact from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";

/** `vite dashboard` serves the page against a coordinator that runs separately. */
const COORDINATOR = "http://127.0.0.1:8787";

const FIRST_SOCKET = "first-socket";

/** Its script runs as soon as it is there, and does not wait for the page's. */
const firstSocket = (): Plugin => ({
  name: "signalbox:first-socket",
  transformIndexHtml: {
    order: "post",
    handler: (_html, { bundle = {} }) =>
      Object.values(bundle)
        .filter((one) => one.type === "chunk" && one.isEntry && one.name === FIRST_SOCKET)
        .map(({ fileName }) => ({
          tag: "script",
          attrs: { type: "module", async: true, crossorigin: true, src: `/${fileName}` },
          injectTo: "head-prepend",
        })),
  },
});

export default defineConfig({
  plugins: [preact({ devToolsEnabled: false }), firstSocket()],
  base: "/",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    rolldownOptions: {
      input: {
        index: "/index.html",
        [FIRST_SOCKET]: "/state/first-socket.ts",
      },
      output: {
        // All that the first view needs is one file: each file more is found, read and compiled for itself.
        codeSplitting: {
          groups: [
            { name: FIRST_SOCKET, test: /state[\\/](first-socket|session-hint)\.ts$/, priority: 1 },
            { name: "first-view", tags: ["$initial"] },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/catalog", "/config", "/dispatch", "/killswitch", "/presence", "/session", "/live", "/v1", "/docs"].map(
        (path) => [path, { target: COORDINATOR, changeOrigin: true, ws: path === "/live" }],
      ),
    ),
  },
});
