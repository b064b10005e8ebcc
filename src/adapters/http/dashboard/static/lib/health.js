// How the node is: asked once for all that show it.
import { api } from "./api.js";
import { createContext, html, useContext } from "./html.js";
import { useResource } from "./resource.js";

const EVERY_MS = 10000;
const Asked = createContext(null);

/** Ask how the node is, for all that is inside. */
export function WithHealth({ children }) {
  const health = useResource((signal) => api.health(signal), [], { facts: ["tocsin.node.", "tocsin.ledger."], every: EVERY_MS });
  return html`<${Asked.Provider} value=${health}>${children}</${Asked.Provider}>`;
}

/** How the node is, as a resource. */
export const useHealth = () => useContext(Asked);
