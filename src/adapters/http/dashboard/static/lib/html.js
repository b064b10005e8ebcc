// Preact without a build step: `html` is JSX as a template literal. Every module takes all it needs of both from here.
import { Fragment, createContext, h, render } from "preact";
import { useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);
export { Fragment, createContext, render, useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState };
