// Which variables of the environment have secrets: of the service, of providers, of a vault. How people sign in may
// contain a client's secret.

/** By name, whatever the case: Windows knows no difference. */
const SECRET = /^(SERVICE_(.*(KEY|SECRET|TOKEN|PASSWORD|HEADERS).*|SIGN_IN)|PROVIDER_.*|VAULT_.*)$/i;

export const isSecretVariable = (name: string): boolean => SECRET.test(name);
