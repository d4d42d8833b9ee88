// The APIs of AI clients, for those who import the contract and nothing below it.

export { APIS, type Api } from "../domain/api.ts";
