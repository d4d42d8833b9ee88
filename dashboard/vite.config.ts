// Builds the page into static files that a strict CSP allows: no inline script or style, no polyfill, nothing external.

import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

/** `vite dashboard` serves the page against a coordinator that runs separately. */
const COORDINATOR = "http://127.0.0.1:8787";

export default defineConfig({
  plugins: [preact({ devToolsEnabled: false })],
  base: "/",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/catalog", "/config", "/dispatch", "/killswitch", "/presence", "/session", "/live", "/v1", "/docs"].map(
        (path) => [path, { target: COORDINATOR, changeOrigin: true, ws: path === "/live" }],
      ),
    ),
  },
});
