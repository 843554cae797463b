import { startWithPage } from "../start_with_page.ts";

await startWithPage(new URL("./", import.meta.url), { AUTH_URL: "http://localhost:8787/auth" });
