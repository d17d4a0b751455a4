/** The parts of superfine that the panels use. */
declare module "superfine" {
  export interface VNode {
    readonly tag: string;
    readonly key?: string | number;
  }
  export function h(tag: string, props: object, children: VNode[]): VNode;
  export function text(value: string): VNode;
  export function patch<E extends Node>(node: Node, vnode: VNode): E;
}
