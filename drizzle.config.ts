import { defineConfig } from "drizzle-kit";

export default defineConfig({ dialect: "sqlite", schema: "./migrations/schema.ts", out: "./migrations" });
