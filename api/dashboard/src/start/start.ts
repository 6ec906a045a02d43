// The start script: the browser runs it before the libraries have loaded. It loads the parts of the address, and sends
// the requests of its first view.
import { needsOf } from "./address";
import { sendAhead } from "./early-requests";
import { PARTS } from "./parts";

const { pathname, search } = window.location;
const { parts, requests } = needsOf(pathname, search);
for (const path of requests) sendAhead(path);
for (const name of parts) void PARTS[name]().catch(() => undefined); // reported where it is shown
