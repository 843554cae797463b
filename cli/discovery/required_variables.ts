const REQUIRED = /\bgetRequiredEnv\(\s*["'`]([A-Za-z_][A-Za-z0-9_]*)["'`]/g;
const BEARER = /\bauth:\s*["'`]bearer["'`]/;
const SECRET =
  /(?:SECRET|TOKEN|PASSWORD|PEPPER|SALT|(?:API|SIGNING|ENCRYPTION|PRIVATE|HMAC|WEBHOOK|ACCESS)_?KEY)S?$/;

/** Lists the environment variables that a source requires, each as often as it does. */
export function listRequiredVariables(source: string): string[] {
  const names = Array.from(source.matchAll(REQUIRED), ([, name]) => name);
  return BEARER.test(source) ? [...names, "API_BEARER_TOKEN"] : names;
}

/** Checks for the name of a secret, for which a random value is generated on a developer's machine. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}
