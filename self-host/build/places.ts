// What lies where in dist/: from the root of the checkout.

export const DASHBOARD_DIRECTORY = "dist/dashboard";
/** The npm package for workers and clients, unpacked. */
export const PACKAGE_DIRECTORY = "dist/package";
export const WORKER_DIRECTORY = "dist/worker";
export const WORKER_ENTRY = "index.js";
export const SERVER_DIRECTORY = "dist/server";
