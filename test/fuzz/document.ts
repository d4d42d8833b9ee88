// The service's own OpenAPI document, read for the fuzzer: what each operation takes, and what it may answer.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface OperationObject {
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

export interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

/** Which keys may call: none is needed, the root key, or one of these roles. */
type Access = "none" | "root" | readonly string[];

export interface Operation {
  /** `POST /api/jobs/{id}/retry` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  readonly isSocket: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: Schema; readonly isRequired: boolean } | null;
  readonly responses: OperationObject["responses"];
}

const accessOf = (name: string, { description = "" }: OperationObject): Access => {
  const sentence = description.split("\n").at(-1) ?? "";
  if (sentence === "Needs no key.") return "none";
  if (sentence === "Needs the operator's root key.") return "root";
  const roles = /^Needs a key with role (.+)\.$/.exec(sentence)?.[1];
  if (roles === undefined) throw new Error(`${name} does not say which key it needs: ${description}`);
  return roles.split(/, or | or |, /);
};

export const operationsOf = ({ paths }: OpenApi): Operation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      const name = `${method} ${path}`;
      const schema = operation.requestBody?.content["application/json"]?.schema;
      const body = schema === undefined ? null : { schema, isRequired: operation.requestBody?.required === true };
      return {
        name,
        method,
        path,
        access: accessOf(name, operation),
        isSocket: operation.responses["101"] !== undefined,
        parameters: operation.parameters ?? [],
        body,
        responses: operation.responses,
      };
    }),
  );

const DOCUMENT = "openapi";
const pointer = (part: string): string => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));

/** Validators of the documented answers, each compiled once. The tests of the contract check formats. */
export const answerValidators = (document: OpenApi) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, DOCUMENT);
  const compiled = new Map<string, ValidateFunction>();
  return ({ method, path }: Operation, status: number, media: string): ValidateFunction => {
    const parts = ["paths", path, method.toLowerCase(), "responses", String(status), "content", media, "schema"];
    const ref = `${DOCUMENT}#/${parts.map(pointer).join("/")}`;
    const validate = compiled.get(ref) ?? ajv.compile({ $ref: ref });
    compiled.set(ref, validate);
    return validate;
  };
};
