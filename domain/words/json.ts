// The type of `input`, `result` and `progress`: any JSON value, stored and returned unchanged.

export type Json = null | boolean | number | string | readonly Json[] | JsonFields;
export type JsonFields = { readonly [key: string]: Json };

export const hasFields = (value: unknown): value is JsonFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
