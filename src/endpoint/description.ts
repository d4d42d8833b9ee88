// What an endpoint says of itself: what it takes, what it answers, and what it needs of its caller.

import type * as z from "zod";
import type { Permission } from "../../domain/access/key.ts";
import type { WriteKind } from "../../domain/killswitch.ts";
import type { RefusalCode } from "../../domain/words/refusal.ts";
import type { Lane } from "../home.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/**
 * The key that a caller needs: none, the operator's root key, or one with a permission, which the tenant's object
 * checks in the transaction of the operation.
 */
export type Needs = "none" | "root" | Permission;

interface Answer {
  readonly description: string;
  readonly schema?: z.ZodType;
  readonly media?: readonly string[];
  /** What each header says; that of idempotency and `Retry-After` are added where they belong. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Description {
  readonly method: Method;
  /** As OpenAPI writes it: `/api/jobs/{id}`. */
  readonly path: string;
  /** The method name in generated clients; by default derived from method and path. */
  readonly operationId?: string | undefined;
  readonly summary: string;
  readonly tag: string;
  readonly needs: Needs;
  /** The lane whose share it takes (`lanes.ts`); by default chosen by the body's length. */
  readonly lane?: Lane;
  /** The kind of write with which a key that may operate adds data: its tenant is asked before a large body is read. */
  readonly grows?: WriteKind;
  /** It opens a stream of the job in its path (`admission.ts`). */
  readonly readsJob?: true;
  /** It answers with bytes that an object stores (`admission.ts`). */
  readonly readsFile?: true;
  /** A lower size limit than usual. */
  readonly maxBodyBytes?: number;
  readonly description?: string;
  readonly params?: z.ZodObject;
  /** The path names something that may not exist yet: a malformed name is then invalid (400), not unknown (404). */
  readonly isNameNew?: boolean;
  readonly query?: z.ZodObject;
  /** Query parameters, known or not, are ignored. */
  readonly takesAnyQuery?: true;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A body that the handler reads itself, because it has more than one media type. */
  readonly rawBody?: {
    readonly schema: z.ZodType;
    readonly media: readonly string[];
    /** The fields of a form, for the document. */
    readonly form?: z.ZodType;
    /** The operation itself checks the permission, so no separate call is needed. */
    readonly isAuthorizedLate?: true;
    /** It is never held whole, so it takes no share of the bytes that may be held. */
    readonly isStreamed?: true;
  };
  /** A missing body is read as `{}`. */
  readonly isBodyOptional?: boolean;
  /** The schema of its errors, if they are not problem documents. */
  readonly errorSchema?: z.ZodType;
  /** By status; `4XX`: any other of its kind. */
  readonly answers: Readonly<Record<number | `${number}XX`, Answer>>;
  /** Refusals beyond those that every endpoint of its kind can give. */
  readonly refuses?: readonly RefusalCode[];
}
