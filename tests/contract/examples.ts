import { fileURLToPath } from "node:url";
import accounts from "../../examples/accounts/trellis.config.ts";
import booking from "../../examples/booking/trellis.config.ts";
import notes from "../../examples/notes/trellis.config.ts";
import { type ExampleApi, startExampleApi } from "../examples/example_lab.ts";

/** The examples whose documents other tools read. */
export const EXAMPLES = { notes, booking, accounts };

/** Returns the path of an example's document. */
export function getDocument(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}/openapi.json`, import.meta.url));
}

/** Runs a function with the API of an example, and with the token of an administrator of booking and accounts. */
export async function withExample(
  name: keyof typeof EXAMPLES,
  use: (api: ExampleApi, token: string) => Promise<void>,
): Promise<void> {
  const api = await startExampleApi({ name, config: EXAMPLES[name] });
  try {
    const response = await fetch(`${api.url}/auth/sign-up/email`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: api.url },
      body: JSON.stringify({
        name: "Ada",
        email: "admin@example.com",
        password: "correct horse battery",
      }),
    });
    const { user } = await response.json();
    // accounts wants a verified address before it signs in
    const signedIn = await api.askPage<{ token: string }>(`accounts/${user.id}/sign-in`, "POST");
    await use(api, signedIn.token);
  } finally {
    await api.stop();
  }
}
