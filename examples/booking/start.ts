import { startWithPage } from "../start_with_page.ts";

await startWithPage(new URL("./", import.meta.url), { API_URL: "http://localhost:8787" });
