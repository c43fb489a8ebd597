var e=globalThis,t=e.ShadowRoot&&(e.ShadyCSS===void 0||e.ShadyCSS.nativeShadow)&&`adoptedStyleSheets`in Document.prototype&&`replace`in CSSStyleSheet.prototype,n=Symbol(),r=new WeakMap,i=class{constructor(e,t,r){if(this._$cssResult$=!0,r!==n)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,n=this.t;if(t&&e===void 0){let t=n!==void 0&&n.length===1;t&&(e=r.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),t&&r.set(n,e))}return e}toString(){return this.cssText}},a=e=>new i(typeof e==`string`?e:e+``,void 0,n),o=(e,...t)=>new i(e.length===1?e[0]:t.reduce((t,n,r)=>t+(e=>{if(!0===e._$cssResult$)return e.cssText;if(typeof e==`number`)return e;throw Error(`Value passed to 'css' function must be a 'css' function result: `+e+`. Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.`)})(n)+e[r+1],e[0]),e,n),s=(n,r)=>{if(t)n.adoptedStyleSheets=r.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(let t of r){let r=document.createElement(`style`),i=e.litNonce;i!==void 0&&r.setAttribute(`nonce`,i),r.textContent=t.cssText,n.appendChild(r)}},c=t?e=>e:e=>e instanceof CSSStyleSheet?(e=>{let t=``;for(let n of e.cssRules)t+=n.cssText;return a(t)})(e):e,{is:l,defineProperty:ee,getOwnPropertyDescriptor:te,getOwnPropertyNames:ne,getOwnPropertySymbols:re,getPrototypeOf:ie}=Object,ae=globalThis,oe=ae.trustedTypes,se=oe?oe.emptyScript:``,ce=ae.reactiveElementPolyfillSupport,u=(e,t)=>e,le={toAttribute(e,t){switch(t){case Boolean:e=e?se:null;break;case Object:case Array:e=e==null?e:JSON.stringify(e)}return e},fromAttribute(e,t){let n=e;switch(t){case Boolean:n=e!==null;break;case Number:n=e===null?null:Number(e);break;case Object:case Array:try{n=JSON.parse(e)}catch{n=null}}return n}},ue=(e,t)=>!l(e,t),de={attribute:!0,type:String,converter:le,reflect:!1,useDefault:!1,hasChanged:ue};Symbol.metadata??=Symbol(`metadata`),ae.litPropertyMetadata??=new WeakMap;var d=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=de){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let n=Symbol(),r=this.getPropertyDescriptor(e,n,t);r!==void 0&&ee(this.prototype,e,r)}}static getPropertyDescriptor(e,t,n){let{get:r,set:i}=te(this.prototype,e)??{get(){return this[t]},set(e){this[t]=e}};return{get:r,set(t){let a=r?.call(this);i?.call(this,t),this.requestUpdate(e,a,n)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??de}static _$Ei(){if(this.hasOwnProperty(u(`elementProperties`)))return;let e=ie(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(u(`finalized`)))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(u(`properties`))){let e=this.properties,t=[...ne(e),...re(e)];for(let n of t)this.createProperty(n,e[n])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[e,n]of t)this.elementProperties.set(e,n)}this._$Eh=new Map;for(let[e,t]of this.elementProperties){let n=this._$Eu(e,t);n!==void 0&&this._$Eh.set(n,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let n=new Set(e.flat(1/0).reverse());for(let e of n)t.unshift(c(e))}else e!==void 0&&t.push(c(e));return t}static _$Eu(e,t){let n=t.attribute;return!1===n?void 0:typeof n==`string`?n:typeof e==`string`?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let n of t.keys())this.hasOwnProperty(n)&&(e.set(n,this[n]),delete this[n]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return s(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,n){this._$AK(e,n)}_$ET(e,t){let n=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,n);if(r!==void 0&&!0===n.reflect){let i=(n.converter?.toAttribute===void 0?le:n.converter).toAttribute(t,n.type);this._$Em=e,i==null?this.removeAttribute(r):this.setAttribute(r,i),this._$Em=null}}_$AK(e,t){let n=this.constructor,r=n._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let e=n.getPropertyOptions(r),i=typeof e.converter==`function`?{fromAttribute:e.converter}:e.converter?.fromAttribute===void 0?le:e.converter;this._$Em=r;let a=i.fromAttribute(t,e.type);this[r]=a??this._$Ej?.get(r)??a,this._$Em=null}}requestUpdate(e,t,n,r=!1,i){if(e!==void 0){let a=this.constructor;if(!1===r&&(i=this[e]),n??=a.getPropertyOptions(e),!((n.hasChanged??ue)(i,t)||n.useDefault&&n.reflect&&i===this._$Ej?.get(e)&&!this.hasAttribute(a._$Eu(e,n))))return;this.C(e,t,n)}!1===this.isUpdatePending&&(this._$ES=this._$EP())}C(e,t,{useDefault:n,reflect:r,wrapped:i},a){n&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,a??t??this[e]),!0!==i||a!==void 0)||(this._$AL.has(e)||(this.hasUpdated||n||(t=void 0),this._$AL.set(e,t)),!0===r&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[e,t]of this._$Ep)this[e]=t;this._$Ep=void 0}let e=this.constructor.elementProperties;if(e.size>0)for(let[t,n]of e){let{wrapped:e}=n,r=this[t];!0!==e||this._$AL.has(t)||r===void 0||this.C(t,void 0,n,r)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(e=>e.hostUpdate?.()),this.update(t)):this._$EM()}catch(t){throw e=!1,this._$EM(),t}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(e){}firstUpdated(e){}};d.elementStyles=[],d.shadowRootOptions={mode:`open`},d[u(`elementProperties`)]=new Map,d[u(`finalized`)]=new Map,ce?.({ReactiveElement:d}),(ae.reactiveElementVersions??=[]).push(`2.1.2`);var fe=globalThis,pe=e=>e,me=fe.trustedTypes,he=me?me.createPolicy(`lit-html`,{createHTML:e=>e}):void 0,ge=`$lit$`,f=`lit$${Math.random().toFixed(9).slice(2)}$`,_e=`?`+f,ve=`<${_e}>`,p=document,ye=()=>p.createComment(``),m=e=>e===null||typeof e!=`object`&&typeof e!=`function`,be=Array.isArray,xe=e=>be(e)||typeof e?.[Symbol.iterator]==`function`,Se=`[ 	
\f\r]`,h=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Ce=/-->/g,we=/>/g,g=RegExp(`>|${Se}(?:([^\\s"'>=/]+)(${Se}*=${Se}*(?:[^ \t\n\f\r"'\`<>=]|("|')|))|$)`,`g`),Te=/'/g,Ee=/"/g,De=/^(?:script|style|textarea|title)$/i,_=(e=>(t,...n)=>({_$litType$:e,strings:t,values:n}))(1),v=Symbol.for(`lit-noChange`),y=Symbol.for(`lit-nothing`),Oe=new WeakMap,b=p.createTreeWalker(p,129);function ke(e,t){if(!be(e)||!e.hasOwnProperty(`raw`))throw Error(`invalid template strings array`);return he===void 0?t:he.createHTML(t)}var Ae=(e,t)=>{let n=e.length-1,r=[],i,a=t===2?`<svg>`:t===3?`<math>`:``,o=h;for(let t=0;t<n;t++){let n=e[t],s,c,l=-1,ee=0;for(;ee<n.length&&(o.lastIndex=ee,c=o.exec(n),c!==null);)ee=o.lastIndex,o===h?c[1]===`!--`?o=Ce:c[1]===void 0?c[2]===void 0?c[3]!==void 0&&(o=g):(De.test(c[2])&&(i=RegExp(`</`+c[2],`g`)),o=g):o=we:o===g?c[0]===`>`?(o=i??h,l=-1):c[1]===void 0?l=-2:(l=o.lastIndex-c[2].length,s=c[1],o=c[3]===void 0?g:c[3]===`"`?Ee:Te):o===Ee||o===Te?o=g:o===Ce||o===we?o=h:(o=g,i=void 0);let te=o===g&&e[t+1].startsWith(`/>`)?` `:``;a+=o===h?n+ve:l>=0?(r.push(s),n.slice(0,l)+ge+n.slice(l)+f+te):n+f+(l===-2?t:te)}return[ke(e,a+(e[n]||`<?>`)+(t===2?`</svg>`:t===3?`</math>`:``)),r]},je=class e{constructor({strings:t,_$litType$:n},r){let i;this.parts=[];let a=0,o=0,s=t.length-1,c=this.parts,[l,ee]=Ae(t,n);if(this.el=e.createElement(l,r),b.currentNode=this.el.content,n===2||n===3){let e=this.el.content.firstChild;e.replaceWith(...e.childNodes)}for(;(i=b.nextNode())!==null&&c.length<s;){if(i.nodeType===1){if(i.hasAttributes())for(let e of i.getAttributeNames())if(e.endsWith(ge)){let t=ee[o++],n=i.getAttribute(e).split(f),r=/([.?@])?(.*)/.exec(t);c.push({type:1,index:a,name:r[2],strings:n,ctor:r[1]===`.`?Fe:r[1]===`?`?Ie:r[1]===`@`?Le:Pe}),i.removeAttribute(e)}else e.startsWith(f)&&(c.push({type:6,index:a}),i.removeAttribute(e));if(De.test(i.tagName)){let e=i.textContent.split(f),t=e.length-1;if(t>0){i.textContent=me?me.emptyScript:``;for(let n=0;n<t;n++)i.append(e[n],ye()),b.nextNode(),c.push({type:2,index:++a});i.append(e[t],ye())}}}else if(i.nodeType===8){if(i.data===_e)c.push({type:2,index:a});else{let e=-1;for(;(e=i.data.indexOf(f,e+1))!==-1;)c.push({type:7,index:a}),e+=f.length-1}}a++}}static createElement(e,t){let n=p.createElement(`template`);return n.innerHTML=e,n}};function x(e,t,n=e,r){if(t===v)return t;let i=r===void 0?n._$Cl:n._$Co?.[r],a=m(t)?void 0:t._$litDirective$;return i?.constructor!==a&&(i?._$AO?.(!1),a===void 0?i=void 0:(i=new a(e),i._$AT(e,n,r)),r===void 0?n._$Cl=i:(n._$Co??=[])[r]=i),i!==void 0&&(t=x(e,i._$AS(e,t.values),i,r)),t}var Me=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:n}=this._$AD,r=(e?.creationScope??p).importNode(t,!0);b.currentNode=r;let i=b.nextNode(),a=0,o=0,s=n[0];for(;s!==void 0;){if(a===s.index){let t;s.type===2?t=new Ne(i,i.nextSibling,this,e):s.type===1?t=new s.ctor(i,s.name,s.strings,this,e):s.type===6&&(t=new Re(i,this,e)),this._$AV.push(t),s=n[++o]}a!==s?.index&&(i=b.nextNode(),a++)}return b.currentNode=p,r}p(e){let t=0;for(let n of this._$AV)n!==void 0&&(n.strings===void 0?n._$AI(e[t]):(n._$AI(e,n,t),t+=n.strings.length-2)),t++}},Ne=class e{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,n,r){this.type=2,this._$AH=y,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=n,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=x(this,e,t),m(e)?e===y||e==null||e===``?(this._$AH!==y&&this._$AR(),this._$AH=y):e!==this._$AH&&e!==v&&this._(e):e._$litType$===void 0?e.nodeType===void 0?xe(e)?this.k(e):this._(e):this.T(e):this.$(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==y&&m(this._$AH)?this._$AA.nextSibling.data=e:this.T(p.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:n}=e,r=typeof n==`number`?this._$AC(e):(n.el===void 0&&(n.el=je.createElement(ke(n.h,n.h[0]),this.options)),n);if(this._$AH?._$AD===r)this._$AH.p(t);else{let e=new Me(r,this),n=e.u(this.options);e.p(t),this.T(n),this._$AH=e}}_$AC(e){let t=Oe.get(e.strings);return t===void 0&&Oe.set(e.strings,t=new je(e)),t}k(t){be(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,r,i=0;for(let a of t)i===n.length?n.push(r=new e(this.O(ye()),this.O(ye()),this,this.options)):r=n[i],r._$AI(a),i++;i<n.length&&(this._$AR(r&&r._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let t=pe(e).nextSibling;pe(e).remove(),e=t}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},Pe=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,n,r,i){this.type=1,this._$AH=y,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=i,n.length>2||n[0]!==``||n[1]!==``?(this._$AH=Array(n.length-1).fill(new String),this.strings=n):this._$AH=y}_$AI(e,t=this,n,r){let i=this.strings,a=!1;if(i===void 0)e=x(this,e,t,0),a=!m(e)||e!==this._$AH&&e!==v,a&&(this._$AH=e);else{let r=e,o,s;for(e=i[0],o=0;o<i.length-1;o++)s=x(this,r[n+o],t,o),s===v&&(s=this._$AH[o]),a||=!m(s)||s!==this._$AH[o],s===y?e=y:e!==y&&(e+=(s??``)+i[o+1]),this._$AH[o]=s}a&&!r&&this.j(e)}j(e){e===y?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??``)}},Fe=class extends Pe{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===y?void 0:e}},Ie=class extends Pe{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==y)}},Le=class extends Pe{constructor(e,t,n,r,i){super(e,t,n,r,i),this.type=5}_$AI(e,t=this){if((e=x(this,e,t,0)??y)===v)return;let n=this._$AH,r=e===y&&n!==y||e.capture!==n.capture||e.once!==n.once||e.passive!==n.passive,i=e!==y&&(n===y||r);r&&this.element.removeEventListener(this.name,this,n),i&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH==`function`?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},Re=class{constructor(e,t,n){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=n}get _$AU(){return this._$AM._$AU}_$AI(e){x(this,e)}},ze={M:ge,P:f,A:_e,C:1,L:Ae,R:Me,D:xe,V:x,I:Ne,H:Pe,N:Ie,U:Le,B:Fe,F:Re},Be=fe.litHtmlPolyfillSupport;Be?.(je,Ne),(fe.litHtmlVersions??=[]).push(`3.3.3`);var Ve=(e,t,n)=>{let r=n?.renderBefore??t,i=r._$litPart$;if(i===void 0){let e=n?.renderBefore??null;r._$litPart$=i=new Ne(t.insertBefore(ye(),e),e,void 0,n??{})}return i._$AI(e),i},He=globalThis,S=class extends d{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Ve(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return v}};S._$litElement$=!0,S.finalized=!0,He.litElementHydrateSupport?.({LitElement:S});var Ue=He.litElementPolyfillSupport;Ue?.({LitElement:S}),(He.litElementVersions??=[]).push(`4.2.2`);var C=e=>(t,n)=>{n===void 0?customElements.define(e,t):n.addInitializer(()=>{customElements.define(e,t)})},We={attribute:!0,type:String,converter:le,reflect:!1,hasChanged:ue},Ge=(e=We,t,n)=>{let{kind:r,metadata:i}=n,a=globalThis.litPropertyMetadata.get(i);if(a===void 0&&globalThis.litPropertyMetadata.set(i,a=new Map),r===`setter`&&((e=Object.create(e)).wrapped=!0),a.set(n.name,e),r===`accessor`){let{name:r}=n;return{set(n){let i=t.get.call(this);t.set.call(this,n),this.requestUpdate(r,i,e,!0,n)},init(t){return t!==void 0&&this.C(r,void 0,e,t),t}}}if(r===`setter`){let{name:r}=n;return function(n){let i=this[r];t.call(this,n),this.requestUpdate(r,i,e,!0,n)}}throw Error(`Unsupported decorator location: `+r)};function w(e){return(t,n)=>typeof n==`object`?Ge(e,t,n):((e,t,n)=>{let r=t.hasOwnProperty(n);return t.constructor.createProperty(n,e),r?Object.getOwnPropertyDescriptor(t,n):void 0})(e,t,n)}function T(e){return w({...e,state:!0,attribute:!1})}var Ke=(e,t,n)=>(n.configurable=!0,n.enumerable=!0,Reflect.decorate&&typeof t!=`object`&&Object.defineProperty(e,t,n),n);function qe(e,t){return(n,r,i)=>{let a=t=>t.renderRoot?.querySelector(e)??null;if(t){let{get:e,set:t}=typeof r==`object`?n:i??(()=>{let e=Symbol();return{get(){return this[e]},set(t){this[e]=t}}})();return Ke(n,r,{get(){let n=e.call(this);return n===void 0&&(n=a(this),(n!==null||this.hasUpdated)&&t.call(this,n)),n}})}return Ke(n,r,{get(){return a(this)}})}}var Je=e=>(...t)=>({_$litDirective$:e,values:t}),Ye=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,n){this._$Ct=e,this._$AM=t,this._$Ci=n}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}},{I:Xe}=ze,Ze={},Qe=(e,t=Ze)=>e._$AH=t,$e=Je(class extends Ye{constructor(){super(...arguments),this.key=y}render(e,t){return this.key=e,t}update(e,[t,n]){return t!==this.key&&(Qe(e),this.key=t),n}}),et=o`
  :host {
    --ground: light-dark(#f6f7f8, #101418);
    --raised: light-dark(#ffffff, #171c22);
    --sunken: light-dark(#eef0f2, #0c1013);
    --text: light-dark(#1b2229, #e3e8ec);
    --quiet: light-dark(#56616c, #9aa6b1);
    --line: light-dark(#dfe3e7, #29313a);
    --edge: light-dark(#c3cad1, #3d4853);
    --accent: light-dark(#0b6679, #5cc3d8);
    --on-accent: light-dark(#ffffff, #08212a);
    --tint: light-dark(#e1f0f3, #12303a);
    --heat: light-dark(#c4e3ea, #17495a);
    --good: light-dark(#1f6e3c, #6fcf93);
    --bad: light-dark(#b3261e, #ff8f86);
    --warn: light-dark(#8a5300, #f0b45b);
    --radius: 5px;
    --s1: 4px;
    --s2: 8px;
    --s3: 12px;
    --s4: 16px;
    --s5: 24px;
    --s6: 32px;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
    background: var(--ground);
    color: var(--text);
    font: 400 0.875rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    font-variant-numeric: tabular-nums;
  }
`,E=o`
  :host {
    display: block;
    min-width: 0;
  }
  :host([hidden]) {
    display: none;
  }
  * {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  p,
  dl,
  dd,
  ul,
  ol,
  pre,
  figure {
    margin: 0;
    padding: 0;
  }
  h1 {
    font-size: 1.375rem;
    font-weight: 600;
    letter-spacing: -0.01em;
    line-height: 1.3;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 0.9375rem;
    font-weight: 600;
    line-height: 1.4;
  }
  a {
    color: var(--accent);
    text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
    text-underline-offset: 0.2em;
  }
  a:hover {
    text-decoration-color: currentcolor;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: var(--radius);
  }
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--raised);
    border: 1px solid var(--edge);
    border-radius: var(--radius);
    padding: var(--s1) var(--s3);
    min-height: 2rem;
    max-width: 100%;
  }
  button {
    cursor: pointer;
    white-space: nowrap;
  }
  button:hover:not(:disabled) {
    border-color: var(--quiet);
  }
  button:disabled {
    color: var(--quiet);
    cursor: default;
  }
  button[aria-pressed="true"],
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
  }
  input::placeholder,
  textarea::placeholder {
    color: var(--quiet);
    opacity: 1;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.9286em;
  }
  pre {
    padding: var(--s3);
    overflow: auto;
    background: var(--sunken);
    border-radius: var(--radius);
    line-height: 1.5;
  }
  .quiet {
    color: var(--quiet);
  }
  .good {
    color: var(--good);
  }
  .bad {
    color: var(--bad);
  }
  .warn {
    color: var(--warn);
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: calc(2 * var(--radius));
    padding: var(--s4);
    min-width: 0;
  }
  .stack {
    display: flex;
    flex-direction: column;
    gap: var(--s4);
  }
  .stack.tight {
    gap: var(--s2);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--s2) var(--s3);
  }
  .row.between {
    justify-content: space-between;
  }
  .columns {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
    gap: var(--s4);
    align-items: start;
  }
  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: var(--s1) var(--s5);
  }
  .facts > div {
    display: flex;
    gap: var(--s2);
    align-items: baseline;
  }
  .facts dt {
    color: var(--quiet);
    white-space: nowrap;
  }
  .segments {
    display: inline-flex;
  }
  .segments button {
    border-radius: 0;
    margin-inline-start: -1px;
  }
  .segments button:first-child {
    border-start-start-radius: var(--radius);
    border-end-start-radius: var(--radius);
    margin: 0;
  }
  .segments button:last-child {
    border-start-end-radius: var(--radius);
    border-end-end-radius: var(--radius);
  }
  .failure {
    border-inline-start: 3px solid var(--bad);
    background: var(--sunken);
    padding: var(--s3) var(--s4);
    border-radius: var(--radius);
    display: flex;
    flex-direction: column;
    align-items: start;
    gap: var(--s2);
    overflow-wrap: anywhere;
  }
  .empty {
    padding: var(--s5) 0;
    color: var(--quiet);
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;function D(e,t,n,r){var i=arguments.length,a=i<3?t:r===null?r=Object.getOwnPropertyDescriptor(t,n):r,o;if(typeof Reflect==`object`&&typeof Reflect.decorate==`function`)a=Reflect.decorate(e,t,n,r);else for(var s=e.length-1;s>=0;s--)(o=e[s])&&(a=(i<3?o(a):i>3?o(t,n,a):o(t,n))||a);return i>3&&a&&Object.defineProperty(t,n,a),a}var tt=class extends S{constructor(...e){super(...e),this.copies=[],this.done=``}static{this.styles=[E,o`
      :host {
        display: inline-block;
      }
      button {
        font-size: 0.8125rem;
        min-height: 1.75rem;
        padding: 0 var(--s2);
      }
    `]}render(){return _`<span class="row" role="group" aria-label="Copy as">
      <span class="quiet" aria-hidden="true">Copy as</span>
      ${this.copies.map(e=>_`<button title=${e.text} @click=${()=>void this.copy(e)}>${this.done===e.name?`✓ `:``}${e.name}</button>`)}
      <span class="hidden" role="status">${this.done&&`${this.done} copied`}</span>
    </span>`}async copy({name:e,text:t}){await nt(t),this.done=e,setTimeout(()=>this.done=``,2e3)}};D([w({attribute:!1})],tt.prototype,`copies`,void 0),D([T()],tt.prototype,`done`,void 0),tt=D([C(`mooring-copy`)],tt);async function nt(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var rt=new Intl.NumberFormat(`en-US`,{maximumFractionDigits:1}),it=[``,`Ki`,`Mi`,`Gi`,`Ti`,`Pi`];function O(e){return rt.format(e)}function k(e,t){return`${O(e)} ${t}${e===1?``:`s`}`}function A(e,t){return e===`cpu`?O(t/1e3):st(e)?ct(t):O(t)}var at={n:1e-9,u:1e-6,m:.001,"":1,k:1e3,M:1e6,G:1e9,T:0xe8d4a51000,P:0x38d7ea4c68000,E:0xde0b6b3a7640000,Ki:1024,Mi:2**20,Gi:2**30,Ti:2**40,Pi:2**50,Ei:2**60};function ot(e,t){let[,n=``,r=``]=/^([-+.\deE]*\d)([a-zA-Z]*)$/.exec(t)??[];return Number(n)*(at[r]??NaN)*(e===`cpu`?1e3:1)}function st(e){return/^(memory|ephemeral-storage|hugepages-)/.test(e)}function ct(e){let t=Math.min(it.length-1,Math.max(0,Math.floor(Math.log2(Math.abs(e)||1)/10)));return`${O(e/1024**t)}${it[t]}`}function lt(e){return e===void 0?``:ut(parseFloat(e))}function ut(e){return e<.001?`${O(Math.round(e*1e6))} µs`:e<1?`${O(e*1e3)} ms`:e<120?`${O(Math.round(e*10)/10)} s`:e<7200?`${O(Math.floor(e/60))} min`:e<172800?`${O(Math.floor(e/3600))} h`:`${O(Math.floor(e/86400))} d`}function j(e,t=Date.now()){if(!e)return``;let n=(t-Date.parse(e))/1e3;return n<1?`now`:ut(Math.floor(n))}function M(e,t){let n=e.nodes[t];return n.slice(0,n.length-e.suffix.length)}function dt({raw:e,normalized:t}){return e.every(t=>t===e[0])&&t.every(e=>e===t[0])}function ft(e,t){let n=e.verdicts[t]??0,r=new Set(n?[n]:[]),{nodes:i,verdicts:a}=e.rejections;for(let e=pt(i,t);i[e]===t;e++)r.add(a[e]);return Array.from(r,t=>e.distinct[t])}function N(e,t){let n=pt(e.scored,t);return e.scored[n]===t?n:-1}function pt(e,t){let n=0,r=e.length;for(;n<r;){let i=n+r>>1;e[i]<t?n=i+1:r=i}return n}var mt={NodeResourcesFit:[[/Too many pods/,`Nodes are at their limit of pods: add a node, or raise maxPods of the kubelet.`],[/Insufficient (\S+)/,`Add a node with enough $1, lower the request, or see what holds $1 now.`]],NodeAffinity:[[/./,`Label a node as the pod's nodeSelector or node affinity asks, or correct the pod.`]],TaintToleration:[[/not-ready|unreachable|disk-pressure|memory-pressure/,`Repair the nodes: their taint says that they are not healthy.`],[/./,`Add the toleration to the pod, or remove the taint from a node.`]],NodeUnschedulable:[[/./,`Uncordon a node: kubectl uncordon NODE.`]],NodePorts:[[/./,`The host port is taken: drop hostPort, or add a node where it is free.`]],NodeName:[[/./,`spec.nodeName names another node: remove it from the pod.`]],InterPodAffinity:[[/existing pods/,`A running pod's anti-affinity keeps this pod away: check pods with anti-affinity to its labels.`],[/anti-affinity/,`More replicas than places: add a node or zone, or make the anti-affinity preferred.`],[/./,`No pod matches the affinity on a node with room: check its labels and topologyKey.`]],PodTopologySpread:[[/missing/,`Label the nodes with the constraint's topologyKey.`],[/./,`Add room in the emptiest zone, raise maxSkew, or use whenUnsatisfiable: ScheduleAnyway.`]],VolumeBinding:[[/unbound immediate/,`Bind the PersistentVolumeClaim, or use a StorageClass with WaitForFirstConsumer.`],[/not found|non-existent/,`Create the PersistentVolumeClaim or volume that the pod names.`],[/./,`Add a node where the claim's volume can be: its zone or host is fixed by the volume.`]],VolumeZone:[[/./,`Add a node in the volume's zone.`]],NodeVolumeLimits:[[/./,`Nodes have as many volumes attached as they take: add a node.`]],VolumeRestrictions:[[/./,`Another pod uses the volume exclusively: wait for it, or use ReadWriteMany.`]],DynamicResources:[[/./,`No free device satisfies the claim: add devices, or relax the claim's selectors.`]],SchedulingGates:[[/./,`Whoever set the pod's schedulingGates has to remove them.`]],DefaultPreemption:[[/./,`Raise the pod's priority, or make room by hand.`]]},ht=`See the plugin's reason; what it needs is in its documentation.`;function gt(e,t){for(let[n,r]of mt[e??``]??[]){let e=n.exec(t??``);if(e)return r.replaceAll(`$1`,e[1]??``)}return ht}function _t(e,t){return ft(e,t).flatMap(({plugin:n=``,reasons:r=[``]})=>r.map(r=>({plugin:n,reason:r,figures:bt(e,t,r),step:gt(n,r)})))}function vt(e){let t,[n,r]=[1/0,1/0];for(let i=0;i<e.nodes.length;i++){let a=ft(e,i).length,o=a&&a<=n?yt(e,i):1/0;a&&(a<n||a===n&&o<r)&&([t,n,r]=[i,a,o])}return t}function yt(e,t){return e.resources.map(({requested:e,free:n})=>e?Math.max(0,e-n[t])/e:0).reduce((e,t)=>e+t,0)}function bt(e,t,n){let r=/^Too many pods/.test(n)?`pods`:/^Insufficient (\S+)/.exec(n)?.[1],i=e.resources.find(e=>e.name===r);if(!i)return``;let a=i.free[t];return`${`needs ${A(i.name,i.requested)}, has ${A(i.name,Math.max(0,a))} left`}: ${A(i.name,i.requested-a)} short`}var xt=4,St=8,Ct={int8:(e,t,n)=>new Int8Array(e,t,n),uint8:(e,t,n)=>new Uint8Array(e,t,n),int16:(e,t,n)=>new Int16Array(e,t,n),uint16:(e,t,n)=>new Uint16Array(e,t,n),int32:(e,t,n)=>new Int32Array(e,t,n),uint32:(e,t,n)=>new Uint32Array(e,t,n),float64:(e,t,n)=>new Float64Array(e,t,n)};function wt(e){if(e.byteLength<xt)throw Error(`columns: ${e.byteLength} bytes are too few for a header`);let t=new DataView(e).getUint32(0,!0),n=xt+t;if(n>e.byteLength)throw Error(`columns: the header of ${t} bytes is cut off`);let r=JSON.parse(new TextDecoder().decode(new Uint8Array(e,xt,t))),i=Math.ceil(n/St)*St,a=new Map;for(let{name:t,dtype:n,shape:o,offset:s}of r.arrays){let r=Ct[n];if(!r)throw Error(`columns: array ${t} has the unknown type ${n}`);let c=o.reduce((e,t)=>e*t,1);try{a.set(t,r(e,i+s,c))}catch{throw Error(`columns: array ${t} of ${c} ${n} at ${s} lies outside the answer`)}}return{header:r,arrays:a}}function Tt(e){let t=e.length>1?e[0]:``;for(let n of e)for(;!n.endsWith(t)||n===t;){let e=t.indexOf(`.`,1);if(e<0)return``;t=t.slice(e)}return t}var Et=new Uint32Array;function Dt(e){let{header:t,arrays:n}=wt(e),r=e=>n.get(e)??Et,i=new Uint8Array(t.nodes.length),a=e=>r(e).length?r(e):i;return{made:t.made,decision:t.decision,differences:t.differences??[],pod:t.pod,assigned:t.assigned,provenance:t.provenance,verdict:t.verdict,seed:BigInt(t.seed),nodes:t.nodes,suffix:Tt(t.nodes),distinct:t.distinct,verdicts:r(`verdicts`),scored:r(`scored`),plugins:t.plugins.map(({name:e,weight:t},n)=>({name:e,weight:t,raw:r(`raw.${n}`),normalized:r(`normalized.${n}`)})),selected:t.selected,ties:r(`ties`),rejections:{nodes:r(`rejections.nodes`),verdicts:r(`rejections.verdicts`)},resources:t.resources.map(({name:e,requested:t},n)=>({name:e,requested:t,free:a(`free.${n}`)})),warnings:t.warnings,evaluated:t.evaluated,feasible:t.feasible}}function Ot(e,t,n,r){let i=N(e,n),a=N(e,r);return i<0||a<0?[]:e.plugins.map(({name:e,normalized:n},r)=>{let o=t[r],[s,c]=[n[i]*o,n[a]*o];return{plugin:e,first:s,second:c,lead:s-c}}).sort((e,t)=>Math.abs(t.lead)-Math.abs(e.lead))}var kt=3;function At(e){let t=jt(e),n=[...(e.decision?.rejectingPlugins??[]).filter(e=>t.has(e)),...t.keys()],r=e.nodes.length;return[...new Set(n)].map(e=>{let n=[...t.get(e).values()].sort((e,t)=>t.count-e.count),i=n.reduce((e,t)=>e+t.count,0);return r-=i,{plugin:e,rejected:i,left:r,reasons:n}})}function jt(e){let t=new Map;return e.verdicts.forEach((n,r)=>{if(!n)return;let{plugin:i=``,reasons:a=[]}=e.distinct[n],o=a.join(`, `),s=t.get(i)??new Map;t.set(i,s);let c=s.get(o)??{text:o,count:0,examples:[]};s.set(o,c),c.count++,c.examples.length<kt&&c.examples.push(r)}),t}var P=(1n<<64n)-1n,F=128,Mt=[7640891576956012808n,13503953896175478587n,4354685564936845355n,11912009170470909681n,5840696475078001361n,11170449401992604703n,2270897969802886507n,6620516959819538809n],Nt=[`0123456789abcdef`,`ea489fd61c02b753`,`b8c052fdae367194`,`7931dcbe265a40f8`,`905724afe1bc683d`,`2c6a0b834d75fe19`,`c51fed4a0763928b`,`db7ec13950f4862a`,`6fe9b308c2d714a5`,`a2847615fb9e3cd0`,`0123456789abcdef`,`ea489fd61c02b753`].map(e=>Array.from(e,e=>parseInt(e,16))),Pt=[[0,4,8,12],[1,5,9,13],[2,6,10,14],[3,7,11,15],[0,5,10,15],[1,6,11,12],[2,7,8,13],[3,4,9,14]];function Ft(e,t,n){return n>1?Number(It(e,t)%BigInt(n)):0}function It(e,t){let n=new TextEncoder().encode(t),r=new Uint8Array(F*(1+Math.ceil(n.length/F)));new DataView(r.buffer).setBigUint64(0,e&P,!0),r.set(n,F);let i=[...Mt];i[0]^=BigInt(16844808);let a=F+n.length;for(let e=0;e<r.length;e+=F)Lt(i,new DataView(r.buffer,e,F),Math.min(e+F,a),e+F>=a);return i[0]}function Lt(e,t,n,r){let i=[...e,...Mt];i[12]^=BigInt(n),r&&(i[14]^=P);for(let e of Nt)Pt.forEach(([n,r,a,o],s)=>{let c=n=>t.getBigUint64(8*e[n],!0);Rt(i,n,r,a,o,c(2*s),c(2*s+1))});for(let t=0;t<8;t++)e[t]^=i[t]^i[t+8]}function Rt(e,t,n,r,i,a,o){let s=(a,o,s)=>{e[t]=e[t]+e[n]+a&P,e[i]=zt(e[i]^e[t],o),e[r]=e[r]+e[i]&P,e[n]=zt(e[n]^e[r],s)};s(a,32n,24n),s(o,16n,63n)}function zt(e,t){return(e>>t|e<<64n-t)&P}var Bt=NaN;function Vt(e,t){let n=new Float64Array(e.nodes.length).fill(Bt),r=Ut(e,t);e.scored.forEach((e,t)=>n[e]=r[t]);let i=Uint32Array.from(e.scored).sort((e,t)=>n[t]-n[e]||e-t),a=n[i[0]??-1],o=0;for(;o<i.length&&n[i[o]]===a;)o++;let s=Array.from(i.subarray(0,o)),c=Wt(e,s);return i.set([...s].sort((e,t)=>Number(t===c)-Number(e===c))),{totals:n,order:Gt(i,n),ties:s,selected:c,runnerUp:i[o]}}function Ht(e){return e.plugins.map(e=>e.weight)}function Ut(e,t){let n=new Float64Array(e.scored.length);return e.plugins.forEach(({normalized:e},r)=>{let i=t[r];for(let t=0;t<n.length;t++)n[t]+=e[t]*i}),n}function Wt(e,t){return t.length?t[Ft(e.seed,e.pod.uid??``,t.length)]:e.selected}function Gt(e,t){let n=new Uint32Array(t.length);n.set(e);let r=e.length;for(let e=0;e<t.length;e++)Number.isNaN(t[e])&&(n[r++]=e);return n}var Kt=new Intl.Collator(`en`,{numeric:!0});function qt(e){return/=|^\s*!|\b(not)?in\s*\([^)]*\)/.test(e)}function Jt(e,t,n,r,i){let a=typeof i==`string`?Zt(e,i):t=>i.has(e.nodes[t]),o=Array.from(t.order).filter(a);if(n.column===`total`&&n.descending)return o;let s=Yt(e,t,n.column,r);return o.sort(n.descending?(e,t)=>s(t,e):s)}function Yt(e,{totals:t},n,r){if(n===`node`)return(t,n)=>Kt.compare(e.nodes[t],e.nodes[n]);if(n===`verdict`)return(t,n)=>e.verdicts[t]-e.verdicts[n];if(n===`total`)return Xt(e=>t[e]);let i=e.plugins[Number(n.slice(7))],a=r===`raw`?i.raw:i.normalized;return Xt(t=>a[N(e,t)]??NaN)}function Xt(e){let t=t=>Number.isNaN(e(t))?-1/0:e(t);return(e,n)=>t(e)-t(n)||0}function Zt(e,t){let n=t.trim().toLowerCase();if(!n)return()=>!0;let r=e=>e.toLowerCase().includes(n),i=new Set(e.distinct.filter(({plugin:e=``,reasons:t=[]})=>r(`${e}: ${t.join(`, `)}`)));return t=>r(e.nodes[t])||ft(e,t).some(e=>i.has(e))}function Qt(e,t,n){let{assigned:r}=e,i=t.selected===void 0?tn(e):$t(e,t,t.selected,n);return r?`is on ${r}; today it ${i}`:i}function $t(e,t,n,r){let i=`${r.some((t,n)=>t!==e.plugins[n].weight)?`would go`:`goes`} to ${M(e,n)}${e.nodes[n]===e.assigned?` too`:``}`;if(!e.plugins.length||!e.scored.length)return`${i}: ${e.feasible===1?`the only feasible node, so nothing was scored`:`no plugin scores`}.`;let a=100*r.reduce((e,t)=>e+t,0),o=[`${O(t.totals[n])} of ${O(a)} points`];return t.ties.length>1&&o.push(`${O(t.ties.length)} nodes tied, seed ${e.seed} decided`),`${i}: ${o.join(`, `)}${en(e,t,r)}.`}function en(e,{selected:t,runnerUp:n,totals:r},i){if(t===void 0||n===void 0)return``;let a=r[t]-r[n],o=Ot(e,i,t,n).find(e=>e.lead>0);return`; ${M(e,n)} is ${O(a)} behind${o?` (${o.plugin})`:``}`}function tn(e){let t=e.decision?.nominatedNode,n=t?` Room is being made for it on ${t}.`:``;return`has no node: ${e.verdict.message||(e.verdict.reasons??[]).join(`, `)||`no node is feasible`}${n}`}function nn(e,t){let n=e.plugins.flatMap(({name:e,weight:n},r)=>t[r]===n?[]:[{name:e,weight:t[r]}]),r=n.filter(({weight:e})=>!e),i=n.filter(({weight:e})=>e);return[`apiVersion: kubescheduler.config.k8s.io/v1`,`kind: KubeSchedulerConfiguration`,`profiles:`,`- schedulerName: ${JSON.stringify(e.provenance.profile??`default-scheduler`)}`,`  plugins:`,`    score:${n.length?``:` {}`}`,...i.length?[`      enabled:`,...i.flatMap(({name:e,weight:t})=>[`      - name: ${e}`,`        weight: ${t}`])]:[],...r.length?[`      disabled:`,...r.map(({name:e})=>`      - name: ${e}`)]:[],``].join(`
`)}var I=class extends S{constructor(...e){super(...e),this.first=``,this.second=``,this.differences=[]}static{this.styles=[E,o`
      table {
        width: 100%;
        border-collapse: collapse;
      }
      th {
        font-weight: inherit;
        text-align: start;
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s2);
        vertical-align: middle;
      }
      td,
      th:nth-child(n + 2) {
        text-align: end;
      }
      tbody th {
        color: inherit;
        overflow-wrap: anywhere;
      }
      .bar {
        width: 30%;
        min-width: 5rem;
      }
      .axis {
        display: grid;
        grid-template-columns: 1fr 1fr;
        height: 10px;
        background: linear-gradient(var(--edge), var(--edge)) center / 1px 100% no-repeat;
      }
      .axis span {
        height: 100%;
        border-radius: 2px;
      }
      .ahead {
        background: var(--accent);
        justify-self: end;
      }
      .behind {
        background: var(--warn);
        grid-column: 2;
      }
      @media (max-width: 40rem) {
        .bar {
          display: none;
        }
        th,
        td {
          padding: var(--s1);
        }
      }
      tfoot td,
      tfoot th {
        border-top: 1px solid var(--line);
        font-weight: 600;
        color: inherit;
      }
    `]}render(){let e=e=>this.differences.reduce((t,n)=>t+e(n),0),t=e(e=>e.lead),n=Math.max(1,...this.differences.map(e=>Math.abs(e.lead)));return _`<div class="stack tight">
      <p>${this.verdict(t)}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">${this.first}</th>
            <th scope="col" class="bar"><span class="hidden">Which node is ahead</span></th>
            <th scope="col">${this.second}</th>
            <th scope="col">Lead</th>
          </tr>
        </thead>
        <tbody>
          ${this.differences.map(e=>_`<tr>
                <th scope="row">${e.plugin}</th>
                <td>${O(e.first)}</td>
                <td class="bar">${rn(e.lead/n)}</td>
                <td>${O(e.second)}</td>
                <td>${an(e.lead)}</td>
              </tr>`)}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td>${O(e(e=>e.first))}</td>
            <td class="bar"></td>
            <td>${O(e(e=>e.second))}</td>
            <td>${an(t)}</td>
          </tr>
        </tfoot>
      </table>
    </div>`}verdict(e){if(!e)return _`<strong>${this.first}</strong> and <strong>${this.second}</strong> are tied.`;let[t,n]=e>0?[this.first,this.second]:[this.second,this.first];return _`<strong>${t}</strong> is ${O(Math.abs(e))} ahead of <strong>${n}</strong>.`}};D([w()],I.prototype,`first`,void 0),D([w()],I.prototype,`second`,void 0),D([w({attribute:!1})],I.prototype,`differences`,void 0),I=D([C(`mooring-comparison`)],I);function rn(e){let t=`width: ${100*Math.abs(e)}%`;return _`<span class="axis" aria-hidden="true"><span class=${e>0?`ahead`:`behind`} .style=${t}></span></span>`}function an(e){return e>0?`+${O(e)}`:e<0?`−${O(-e)}`:`0`}var on=class extends S{constructor(...e){super(...e),this.stages=[],this.total=0}static{this.styles=[E,o`
      ol {
        list-style: none;
        display: grid;
        gap: var(--s2);
      }
      .stage {
        display: grid;
        grid-template-columns: minmax(6rem, 11rem) minmax(4rem, 1fr) auto;
        gap: 0 var(--s3);
        align-items: center;
      }
      .name {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: var(--sunken);
        display: flex;
        overflow: hidden;
      }
      .left {
        background: var(--accent);
      }
      .rejected {
        background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 5px);
      }
      .figure {
        text-align: end;
        min-width: 3.5rem;
      }
      ul {
        grid-column: 1 / -1;
        list-style: none;
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      li button {
        all: unset;
        cursor: pointer;
        text-decoration: underline;
        text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
        text-underline-offset: 0.2em;
        overflow-wrap: anywhere;
      }
      li button:hover {
        color: var(--text);
      }
      li button:focus-visible {
        outline: 2px solid var(--accent);
      }
    `]}render(){let e=this.stages.at(-1)?.left??this.total;return _`<ol>
      <li class="stage">
        <span class="name">All nodes</span>${this.track(this.total,0)}<span class="figure">${O(this.total)}</span>
      </li>
      ${this.stages.map(e=>this.stage(e))}
      <li class="stage">
        <strong class="name">Feasible</strong>${this.track(e,0)}<strong class="figure ${e?`good`:`bad`}"
          >${e?`✓`:`✕`} ${O(e)}</strong
        >
      </li>
    </ol>`}stage({plugin:e,rejected:t,left:n,reasons:r}){return _`<li class="stage">
      <span class="name" title=${e}>${e||`mooring`}</span>
      ${this.track(n,t)}
      <span class="figure bad" title="${k(t,`node`)} rejected, ${O(n)} left">−${O(t)}</span>
      <ul>
        ${r.map(e=>_`<li>
              <button title="Show these nodes" @click=${()=>this.show(e.text)}>${e.text||`no reason given`}</button>
              ${r.length>1?_` · ${O(e.count)}`:y}
            </li>`)}
      </ul>
    </li>`}track(e,t){let n=e=>`width: ${100*e/Math.max(1,this.total)}%`;return _`<span class="track" aria-hidden="true"
      ><span class="left" .style=${n(e)}></span><span class="rejected" .style=${n(t)}></span
    ></span>`}show(e){this.dispatchEvent(new CustomEvent(`mooring-filter`,{detail:e}))}};D([w({attribute:!1})],on.prototype,`stages`,void 0),D([w({type:Number})],on.prototype,`total`,void 0),on=D([C(`mooring-funnel`)],on);var L=30,sn=4,R=class extends S{constructor(...e){super(...e),this.columns=[],this.rows=[],this.keyOf=e=>String(e),this.marksOf=()=>``,this.restOf=()=>void 0,this.label=``,this.empty=`Nothing here.`,this.first=0,this.shown=40,this.from=1,this.to=1/0,this.sized=new ResizeObserver(()=>this.measure()),this.measure=()=>{let{scrollTop:e,clientHeight:t}=this.scroller;this.shown=Math.ceil(t/L)+8,this.first=Math.max(0,Math.min(Math.floor(e/L)-sn,this.rows.length-this.shown)),this.measureColumns()}}static{this.styles=[E,o`
      .scroller {
        overflow: auto;
        max-height: var(--grid-height, 70vh);
        border: 1px solid var(--line);
        border-radius: calc(2 * var(--radius));
        background: var(--raised);
        overscroll-behavior-x: contain;
      }
      .scroller:focus-visible {
        outline-offset: -2px;
      }
      .all {
        min-width: max-content;
        position: relative;
      }
      .line {
        display: grid;
        height: 30px;
        align-items: stretch;
        contain: layout style;
      }
      .titles {
        position: sticky;
        top: 0;
        z-index: 2;
        background: var(--sunken);
        border-bottom: 1px solid var(--line);
      }
      .window {
        position: absolute;
        inset-inline: 0;
      }
      .line > * {
        padding: 0 var(--s3);
        line-height: 30px;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
        min-width: 0;
      }
      .line > :first-child {
        position: sticky;
        left: 0;
        z-index: 1;
        background: inherit;
        border-inline-end: 1px solid var(--line);
      }
      .rest {
        grid-column: 2 / -1;
      }
      .numeric {
        text-align: end;
      }
      [role="columnheader"] {
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      [role="columnheader"] button {
        all: unset;
        cursor: pointer;
        max-width: 100%;
        overflow: hidden;
        text-overflow: ellipsis;
        vertical-align: top;
      }
      [role="columnheader"] button:hover {
        color: var(--text);
      }
      [role="columnheader"] button:focus-visible {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      [aria-sort] {
        color: var(--text);
        font-weight: 600;
      }
      .body .line {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        cursor: default;
      }
      .body .line:hover {
        background: var(--sunken);
      }
      .line.selected {
        font-weight: 600;
      }
      .line.picked {
        background: var(--tint) !important;
      }
      .line.rejected .cell:first-child {
        color: var(--quiet);
      }
      .line.active {
        background: var(--sunken);
      }
      .scroller:focus-visible .line.active {
        box-shadow: inset 3px 0 var(--accent);
        background: var(--tint);
      }
      .empty {
        padding: var(--s5) var(--s4);
      }
      .heat {
        display: block;
        margin: 0 calc(-1 * var(--s3));
        padding: 0 var(--s3);
        background: linear-gradient(to left, var(--heat) var(--share), transparent var(--share));
      }
    `]}connectedCallback(){super.connectedCallback(),this.updateComplete.then(()=>this.sized.observe(this.scroller))}disconnectedCallback(){super.disconnectedCallback(),this.sized.disconnect()}updated(e){e.has(`columns`)&&this.measureColumns()}willUpdate(e){e.has(`rows`)&&(this.first=Math.max(0,Math.min(this.first,this.rows.length-this.shown)))}render(){let e=[...this.columns.map(e=>e.width),`auto`].join(` `),t=Math.min(this.rows.length,this.first+this.shown),n=this.activeIndex(this.first,t);return _`<div
      class="scroller"
      role="grid"
      tabindex="0"
      aria-label=${this.label}
      aria-rowcount=${this.rows.length+1}
      aria-colcount=${this.columns.length}
      aria-activedescendant=${n<0?y:`row-${n}`}
      @scroll=${this.measure}
      @keydown=${this.onKey}
    >
      <div class="all" role="presentation">
        <div class="titles line" role="row" aria-rowindex="1" .style=${`grid-template-columns: ${e}`}>
          ${this.columns.map(e=>this.heading(e))}
        </div>
        <div class="body" role="presentation" .style=${`height: ${this.rows.length*L}px`}>
          <div class="window" role="presentation" .style=${`top: ${(this.first+1)*L}px`}>
            ${Array.from({length:Math.max(0,t-this.first)},(t,r)=>this.line(this.first+r,e,n))}
          </div>
        </div>
      </div>
      ${this.rows.length?y:_`<p class="empty">${this.empty}</p>`}
    </div>`}reveal(e){let t=this.rows[e];if(t===void 0)return;this.activeKey=this.keyOf(t);let n=e*L,r=this.scroller.clientHeight-60;n<this.scroller.scrollTop?this.scroller.scrollTop=n:n>this.scroller.scrollTop+r&&(this.scroller.scrollTop=n-r),this.measure()}heading(e){let t=this.sorting?.column===e.id?this.sorting:void 0,n=t&&(t.descending?`descending`:`ascending`),r=t?t.descending?` ↓`:` ↑`:``;return _`<div role="columnheader" aria-colindex=${this.columns.indexOf(e)+1} class=${e.numeric?`numeric`:``} aria-sort=${n??y} title=${e.title}>
      ${e.sortable?_`<button @click=${()=>this.tell(`mooring-sort`,e.id)}>${e.title}${r}</button>`:e.title}
    </div>`}line(e,t,n){let r=this.rows[e];return _`<div
      class="line ${this.marksOf(r)} ${e===n?`active`:``}"
      role="row"
      id="row-${e}"
      aria-rowindex=${e+2}
      aria-selected=${e===n}
      .style=${`grid-template-columns: ${t}`}
      @click=${e=>this.onClick(e,r)}
    >
      ${this.columns.slice(0,1).map(e=>cn(e,r,0))} ${this.rest(r)}
    </div>`}rest(e){let t=this.restOf(e);return t?_`<div role="gridcell" class="cell rest" aria-colindex="2" aria-colspan=${this.columns.length-1}>${t}</div>`:this.columns.slice(this.from,this.to).map((t,n)=>cn(t,e,this.from+n))}activeIndex(e=0,t=this.rows.length){if(this.activeKey===void 0)return-1;for(let n=e;n<t;n++)if(this.keyOf(this.rows[n])===this.activeKey)return n;return-1}measureColumns(){let{scrollLeft:e,clientWidth:t}=this.scroller,n=Array.from(this.scroller.querySelectorAll(`[role="columnheader"]`)),r=n=>n.offsetLeft<e+t&&n.offsetLeft+n.offsetWidth>e,i=n.flatMap((e,t)=>t&&r(e)?[t]:[]);[this.from,this.to]=[i[0]??1,(i.at(-1)??n.length)+1]}onClick(e,t){e.composedPath().some(e=>e instanceof HTMLAnchorElement)||(this.activeKey=this.keyOf(t),this.tell(`mooring-open`,t))}onKey(e){if(e.target!==this.scroller)return;let t=Math.max(1,Math.floor(this.scroller.clientHeight/L)-2),n={ArrowDown:1,ArrowUp:-1,PageDown:t,PageUp:-t,Home:-1/0,End:1/0}[e.key],r=this.activeIndex(),i=this.rows[r];if(n!==void 0)this.reveal(Math.max(0,Math.min(this.rows.length-1,r+n)));else if(e.key===`Enter`&&i!==void 0)this.tell(`mooring-open`,i);else if(e.key===` `&&i!==void 0)this.tell(`mooring-pick`,i);else return;e.preventDefault()}tell(e,t){this.dispatchEvent(new CustomEvent(e,{detail:t}))}};D([w({attribute:!1})],R.prototype,`columns`,void 0),D([w({attribute:!1})],R.prototype,`rows`,void 0),D([w({attribute:!1})],R.prototype,`keyOf`,void 0),D([w({attribute:!1})],R.prototype,`marksOf`,void 0),D([w({attribute:!1})],R.prototype,`restOf`,void 0),D([w({attribute:!1})],R.prototype,`sorting`,void 0),D([w()],R.prototype,`label`,void 0),D([w()],R.prototype,`empty`,void 0),D([T()],R.prototype,`activeKey`,void 0),D([T()],R.prototype,`first`,void 0),D([T()],R.prototype,`shown`,void 0),D([T()],R.prototype,`from`,void 0),D([T()],R.prototype,`to`,void 0),D([qe(`.scroller`)],R.prototype,`scroller`,void 0),R=D([C(`mooring-grid`)],R);function cn(e,t,n){return _`<div
    role="gridcell"
    class=${e.numeric?`cell numeric`:`cell`}
    aria-colindex=${n+1}
    .style=${`grid-column: ${n+1}`}
  >
    ${e.cell(t)}
  </div>`}var z=class extends S{constructor(...e){super(...e),this.totals=new Float64Array,this.sized=new ResizeObserver(()=>this.paint()),this.scheme=matchMedia(`(prefers-color-scheme: dark)`),this.repaint=()=>this.requestUpdate()}static{this.styles=[E,o`
      canvas {
        display: block;
        width: 100%;
        height: 26px;
        border-radius: var(--radius);
        background: var(--sunken);
        image-rendering: pixelated;
        --low: var(--heat);
        --high: var(--accent);
      }
    `]}connectedCallback(){super.connectedCallback(),this.scheme.addEventListener(`change`,this.repaint),this.updateComplete.then(()=>this.sized.observe(this.canvas))}disconnectedCallback(){super.disconnectedCallback(),this.scheme.removeEventListener(`change`,this.repaint),this.sized.disconnect()}render(){return _`<canvas role="img" aria-label=${this.words()} @click=${this.onClick} height="1"></canvas>`}updated(){this.paint()}words(){let{low:e,high:t,scored:n}=this.range(),r=n?`totals from ${O(e)} to ${O(t)}`:`no totals`;return`${k(this.totals.length,`node`)}, ${O(n)} of them scored, ${r}; the table below has each`}range(){let[e,t,n]=[1/0,-1/0,0];for(let r of this.totals)Number.isNaN(r)||(n++,r<e&&(e=r),r>t&&(t=r));return{low:e,high:t,scored:n}}paint(){let e=Math.max(1,Math.min(this.totals.length,Math.round(this.canvas.clientWidth))),t=new Float64Array(e).fill(NaN);this.totals.forEach((n,r)=>{let i=Math.floor(r*e/this.totals.length);!(t[i]>=n)&&!Number.isNaN(n)&&(t[i]=n)});let{low:n,high:r}=this.range(),[i,a]=this.colours(),o=new ImageData(e,1);t.forEach((e,t)=>{if(Number.isNaN(e))return;let s=r>n?(e-n)/(r-n):1;for(let e=0;e<3;e++)o.data[4*t+e]=i[e]+s*(a[e]-i[e]);o.data[4*t+3]=255}),this.canvas.width=e,this.canvas.getContext(`2d`).putImageData(o,0,0)}colours(){let e=getComputedStyle(this.canvas);return[ln(this.canvas,e,`--low`),ln(this.canvas,e,`--high`)]}onClick(e){let t=Math.floor(e.offsetX/this.canvas.clientWidth*this.totals.length);this.dispatchEvent(new CustomEvent(`mooring-open`,{detail:t}))}};D([w({attribute:!1})],z.prototype,`totals`,void 0),D([w({attribute:!1})],z.prototype,`selected`,void 0),D([qe(`canvas`)],z.prototype,`canvas`,void 0),z=D([C(`mooring-strip`)],z);function ln(e,t,n){e.style.color=`var(${n})`;let[r=0,i=0,a=0]=(t.color.match(/[\d.]+/g)??[]).map(Number);return e.style.color=``,[r,i,a]}var un=10,dn=class extends S{constructor(...e){super(...e),this.plugins=[],this.weights=[]}static{this.styles=[E,o`
      .sliders {
        display: grid;
        grid-template-columns: minmax(5rem, max-content) minmax(5rem, 1fr) minmax(3rem, auto);
        gap: var(--s1) var(--s3);
        align-items: center;
        max-height: 21rem;
        overflow-y: auto;
      }
      label {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      input {
        width: 100%;
        padding: 0;
        min-height: 1.5rem;
        accent-color: var(--accent);
        background: none;
        border: 0;
      }
      output {
        text-align: end;
        white-space: nowrap;
      }
    `]}render(){return _`<div class="sliders" tabindex="0" role="group" aria-label="Weights of plugins">
      ${this.plugins.map(({name:e,weight:t},n)=>{let r=this.weights[n],i=r===t?y:_`<span class="quiet">${t} → </span>`;return _`<label for="weight-${n}" title=${e}>${e}</label>
          <input
            id="weight-${n}"
            type="range"
            min="0"
            max=${Math.max(un,2*t)}
            .valueAsNumber=${r}
            @input=${e=>this.change(n,e.target.valueAsNumber)}
          />
          <output for="weight-${n}">${i}${r===0?`off`:`× ${r}`}</output>`})}
    </div>`}change(e,t){let n=this.weights.map((n,r)=>r===e?t:n);this.dispatchEvent(new CustomEvent(`mooring-weights`,{detail:n}))}};D([w({attribute:!1})],dn.prototype,`plugins`,void 0),D([w({attribute:!1})],dn.prototype,`weights`,void 0),dn=D([C(`mooring-weights`)],dn);var fn=[`raw`,`normalized`,`weighted`],B=class extends S{constructor(...e){super(...e),this.src=``,this.problem=``,this.weights=[],this.points=`weighted`,this.sorting={column:`total`,descending:!0},this.filter=``,this.filterProblem=``,this.pins=[],this.stages=[],this.shownColumns=[],this.rows=[]}static{this.styles=[et,E,o`
      :host {
        background: none;
      }
      .sentence {
        font-size: 1.0625rem;
        line-height: 1.5;
        overflow-wrap: anywhere;
      }
      input[type="search"] {
        min-width: 14rem;
        flex: 1 1 14rem;
        max-width: 26rem;
      }
      mooring-grid {
        --grid-height: min(65vh, 40rem);
      }
      .legend {
        font-size: 0.8125rem;
      }
      .needs li {
        list-style: none;
        padding: var(--s2) 0;
        border-top: 1px solid var(--line);
      }
      .needs p {
        overflow-wrap: anywhere;
      }
    `]}willUpdate(e){if(e.has(`src`)&&this.src&&this.fetch(),e.has(`columns`)&&this.columns&&this.decode(this.columns),!this.matrix)return;let t=e;(t.has(`matrix`)||t.has(`weights`))&&(this.ranking=Vt(this.matrix,this.weights)),t.has(`matrix`)&&([this.stages,this.shownColumns]=[At(this.matrix),this.gridColumns(this.matrix)]),this.rows=Jt(this.matrix,this.ranking,this.sorting,this.points,this.labelled??this.filter)}render(){if(this.problem)return _`<p class="failure" role="alert">${this.problem}</p>`;let{matrix:e}=this;return e?_`<div class="stack">
      <div class="stack tight">
        <p class="sentence">${this.verdict(e)}</p>
        ${e.differences.length?_`<p class="warn">⚠ Made again, it differs from what was decided: ${e.differences.join(`; `)}</p>`:y}
        ${e.warnings.map(e=>_`<p class="warn">⚠ ${e}</p>`)}
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="funnel">
          <h2 id="funnel">Which nodes are feasible</h2>
          <mooring-funnel
            .stages=${this.stages}
            .total=${e.nodes.length}
            @mooring-filter=${e=>void this.narrow(e.detail)}
          ></mooring-funnel>
        </section>
        ${e.plugins.length?this.weighing(e):y} ${e.scored.length?y:this.details(e)}
      </div>
      <section class="stack tight" aria-labelledby="nodes">
        ${this.toolbar(e)}
        ${e.scored.length?this.overview(e):y}
        <mooring-grid
          label="Nodes and what each plugin says"
          .columns=${this.shownColumns}
          .rows=${this.rows}
          .keyOf=${e=>e}
          .restOf=${t=>this.rejection(e,t)}
          .marksOf=${t=>this.marks(e,t)}
          .sorting=${this.sorting}
          empty="No node matches the filter."
          @mooring-sort=${e=>this.sort(e.detail)}
          @mooring-open=${e=>this.node=e.detail}
          @mooring-pick=${e=>this.pin(e.detail)}
        ></mooring-grid>
        <p class="quiet legend">
          ${O(this.rows.length)} of ${k(e.nodes.length,`node`)} · arrow keys move, Enter shows a node, Space pins it; two
          pinned nodes are compared${e.suffix?_` · names end in <span class="mono">${e.suffix}</span>`:y}
        </p>
      </section>
      ${e.scored.length?_`<div class="columns">${this.details(e)}</div>`:y}
    </div>`:_`<p class="quiet" role="status">Loading …</p>`}async fetch(){try{let e=await fetch(this.src);if(!e.ok)throw Error(`${this.src}: HTTP ${e.status}`);this.columns=await e.arrayBuffer()}catch(e){this.problem=e.message}}decode(e){try{this.matrix=Dt(e),this.weights=Ht(this.matrix),[this.problem,this.pins,this.filter,this.labelled,this.filterProblem]=[``,[],``,void 0,``],this.node=this.nearest=this.matrix.feasible?void 0:vt(this.matrix)}catch(e){this.problem=e.message}}verdict(e){let{namespace:t=``,name:n=``}=e.pod;return _`${this.ranking.selected===void 0?_`<span class="bad">✕</span>`:_`<span class="good">✓</span>`} <strong>${t}/${n}</strong> ${Qt(e,this.ranking,this.weights)}`}weighing(e){let t=this.weights.some((t,n)=>t!==e.plugins[n].weight),{selected:n}=this.ranking,r=n===e.selected?`still selects`:`would select`;return _`<section class="card stack tight" aria-labelledby="weights">
      <div class="row between">
        <h2 id="weights">What if the weights were others?</h2>
        <button ?disabled=${!t} @click=${()=>this.weights=Ht(e)}>Reset</button>
      </div>
      <mooring-weights
        .plugins=${e.plugins}
        .weights=${this.weights}
        @mooring-weights=${e=>this.weights=e.detail}
      ></mooring-weights>
      <div class="row between">
        <p role="status">
          ${t&&n!==void 0?_`<strong>${r} ${M(e,n)}</strong>`:_`<span class="quiet">The weights in force</span>`}
        </p>
        ${t?_`<mooring-copy .copies=${[{name:`YAML`,text:nn(e,this.weights)}]}></mooring-copy>`:y}
      </div>
    </section>`}toolbar(e){let t=this.nodesWith?`name, reason or labels`:`name or reason`;return _`<div class="row between">
        <h2 id="nodes">${e.plugins.length?`Nodes × plugins`:`Nodes`}</h2>
        <input
          type="search"
          aria-label="Filter nodes by ${t}"
          placeholder="Filter by ${t}"
          .value=${this.filter}
          @input=${e=>void this.narrow(e.target.value)}
        />
        ${e.scored.length?this.pointsChoice():y}
      </div>
      ${this.filterProblem?_`<p class="warn" role="status">⚠ ${this.filterProblem}</p>`:y}`}async narrow(e){if([this.filter,this.filterProblem]=[e,``],!this.nodesWith||!qt(e))this.labelled=void 0;else try{let t=await this.nodesWith(e);this.filter===e&&(this.labelled=new Set(t))}catch(t){this.filter===e&&(this.filterProblem=t.message)}}overview(e){let t=e.plugins.flatMap((e,t)=>dt(e)&&e.raw.length?[`${e.name} ${O(this.pointsOf(e,t,0))}`]:[]);return _`${t.length?_`<p class="quiet legend">Equal on all scored nodes: ${t.join(`, `)}</p>`:y}
      <mooring-strip
        .totals=${this.ranking.totals}
        @mooring-open=${e=>this.reveal(e.detail)}
      ></mooring-strip>`}pointsOf({raw:e,normalized:t},n,r){return this.points===`raw`?e[r]:t[r]*(this.points===`weighted`?this.weights[n]:1)}pointsChoice(){return _`<span class="segments" role="group" aria-label="Which scores">
      ${fn.map(e=>_`<button aria-pressed=${this.points===e} @click=${()=>this.points=e}>
            ${e[0].toUpperCase()+e.slice(1)}
          </button>`)}
    </span>`}gridColumns(e){let t=e.plugins.flatMap((t,n)=>dt(t)?[]:[{id:`plugin-${n}`,title:t.name,width:`9rem`,numeric:!0,sortable:!0,cell:t=>this.score(e,t,n)}]),n={id:`node`,title:`Node`,width:`min(14rem, 40vw)`,sortable:!0,cell:t=>this.name(e,t)},r={id:`verdict`,title:`Verdict`,width:e.scored.length?`7.5rem`:`minmax(16rem, 1fr)`,sortable:!0,cell:e=>this.verdictOf(e)};return e.scored.length?[n,{id:`total`,title:`Total`,width:`5.5rem`,numeric:!0,sortable:!0,cell:e=>this.total(e)},r,...t]:[n,r]}name(e,t){return _`${this.pins.includes(t)?_`<span class="good" title="pinned">● </span>`:y}<span title=${e.nodes[t]}>${M(e,t)}</span>`}total(e){let t=this.ranking.totals[e];return Number.isNaN(t)?``:O(t)}score(e,t,n){let r=N(e,t);if(r<0)return y;let i=e.plugins[n],a=this.pointsOf(i,n,r);return _`<span class="heat" .style=${`--share: ${i.normalized[r]}%`}>${O(a)}</span>`}rejection(e,t){let n=e.verdicts[t];if(!n)return;let{plugin:r,reasons:i}=e.distinct[n],a=`${r?`${r}: `:``}${(i??[]).join(`, `)}`;return _`<span class="bad" title=${a}>✕ ${a}</span>`}verdictOf(e){return e===this.ranking.selected?_`<span class="good">✓ selected</span>`:this.ranking.ties.includes(e)?_`✓ tied`:_`<span class="quiet">✓ feasible</span>`}marks(e,t){let n=[];return t===this.ranking.selected&&n.push(`selected`),this.pins.includes(t)&&n.push(`picked`),e.verdicts[t]&&n.push(`rejected`),n.join(` `)}details(e){let[t,n]=this.pins,r=t!==void 0&&n!==void 0;return _`${this.node===void 0?y:this.detail(e,this.node)}
    ${r?this.comparison(e,t,n):y}`}detail(e,t){let n=this.pins.includes(t),r=_t(e,t);return _`<section class="card stack tight" aria-labelledby="node">
      <div class="row between">
        <h2 id="node">${t===this.nearest?`The closest: `:y}${e.nodes[t]}</h2>
        <button aria-pressed=${n} @click=${()=>this.pin(t)}>${n?`Pinned`:`Pin to compare`}</button>
      </div>
      ${r.length?this.needs(r):this.place(e,t)} ${this.left(e,t)}
    </section>`}needs(e){return _`<p><span class="bad">✕ Rejected</span>. What it would take:</p>
      <ul class="needs">
        ${e.map(({plugin:e,reason:t,figures:n,step:r})=>_`<li>
              <p><strong>${e||`mooring`}</strong>: ${t}</p>
              ${n?_`<p>${n}</p>`:y}
              <p class="quiet">${r}</p>
            </li>`)}
      </ul>`}place(e,t){let{selected:n,totals:r,order:i}=this.ranking;if(t===n)return _`<p class="good">✓ Selected.</p>`;if(N(e,t)<0||n===void 0)return _`<p>✓ Feasible; it was not scored.</p>`;let a=r[n]-r[t],o=i.indexOf(t)+1,s=_`<button @click=${()=>this.pins=[n,t]}>Compare with ${M(e,n)}</button>`;return _`<p>✓ Feasible: place ${O(o)}, ${a?`${O(a)} behind ${M(e,n)}`:`tied`}.</p>
      <p>${s}</p>`}left(e,t){return _`<dl class="facts">
      ${e.resources.map(({name:e,requested:n,free:r})=>_`<div>
            <dt>${e}</dt>
            <dd class=${r[t]<n?`bad`:``}>
              requests ${A(e,n)}, ${A(e,Math.max(0,r[t]))} left
            </dd>
          </div>`)}
    </dl>`}comparison(e,t,n){let r=Ot(e,this.weights,t,n),i=[M(e,t),M(e,n)];return _`<section class="card stack tight" aria-labelledby="comparison">
      <div class="row between">
        <h2 id="comparison">Two nodes compared</h2>
        <button @click=${()=>this.pins=[]}>Unpin both</button>
      </div>
      ${r.length?_`<mooring-comparison .first=${i[0]} .second=${i[1]} .differences=${r}></mooring-comparison>`:[t,n].map(t=>_`<p><strong>${e.nodes[t]}</strong> ${this.rejection(e,t)??this.verdictOf(t)}</p>`)}
    </section>`}pin(e){this.pins=this.pins.includes(e)?this.pins.filter(t=>t!==e):[...this.pins,e].slice(-2)}reveal(e){this.node=e,this.grid?.reveal(this.rows.indexOf(e))}sort(e){let t=this.sorting.column===e?!this.sorting.descending:e!==`node`&&e!==`verdict`;this.sorting={column:e,descending:t}}};D([w({attribute:!1})],B.prototype,`columns`,void 0),D([w()],B.prototype,`src`,void 0),D([w({attribute:!1})],B.prototype,`nodesWith`,void 0),D([T()],B.prototype,`matrix`,void 0),D([T()],B.prototype,`problem`,void 0),D([T()],B.prototype,`weights`,void 0),D([T()],B.prototype,`points`,void 0),D([T()],B.prototype,`sorting`,void 0),D([T()],B.prototype,`filter`,void 0),D([T()],B.prototype,`labelled`,void 0),D([T()],B.prototype,`filterProblem`,void 0),D([T()],B.prototype,`pins`,void 0),D([T()],B.prototype,`node`,void 0),D([qe(`mooring-grid`)],B.prototype,`grid`,void 0),B=D([C(`mooring-decision`)],B);function pn(e){let[t=``,n=``]=e.replace(/^#\/?/,``).split(/\?(.*)/s);return{path:t.split(`/`).filter(Boolean).map(mn),query:new URLSearchParams(n)}}function V(e,t={}){let n=pn(location.hash).query.get(`process`)??void 0,r=new URLSearchParams;for(let[e,i]of Object.entries({process:n,...t}))i&&r.set(e,i);let i=r.toString();return`#/${e.map(e=>encodeURIComponent(e)).join(`/`)}${i&&`?${i}`}`}function H(e){let{path:t,query:n}=pn(location.hash),r=V(t,{...Object.fromEntries(n),...e});history.replaceState(null,``,r),dispatchEvent(new HashChangeEvent(`hashchange`))}function mn(e){try{return decodeURIComponent(e)}catch{return e}}var hn=class extends Error{constructor(e,t,n){super(e),this.code=t,this.reason=n}};async function U(e,t,n){return await(await Cn(yn(e),Sn(t),n)).json()}async function gn(e,t,n){return(await Cn(`decisions/${encodeURIComponent(e)}/columns${t?`?again=1`:``}`,{},n)).arrayBuffer()}async function _n(e,t){return(await Cn(`explain/columns`,Sn(e),t)).arrayBuffer()}async function vn(e){let{processes:t}=await(await Cn(`processes`,{},e)).json();return t}function yn(e){return`mooring.v1.${e}`}function bn(e){let t=new URL(`api/v1/${e}`,document.baseURI),n=pn(location.hash).query.get(`process`);return n&&t.searchParams.set(`process`,n),t.href}async function xn(e,t){return(await U(`ClusterService/ListNodes`,{labelSelector:e},t)).nodes?.names?.names??[]}function Sn(e){return{method:`POST`,headers:{"content-type":`application/json`},body:JSON.stringify(e)}}async function Cn(e,t,n){let r;try{r=await fetch(bn(e),{...t,signal:n??null})}catch(e){throw n?.throwIfAborted(),new hn(`mooring web does not answer: ${e.message}`,`unavailable`,``)}if(r.ok)return r;let i=await r.json().catch(()=>({})),a=i.details?.find(e=>e.type===`google.rpc.ErrorInfo`);throw new hn(i.message??`HTTP ${r.status}`,i.code??``,a?.debug?.reason??``)}var W=class{constructor(e,t,n={}){this.host=e,this.load=t,this.options=n,this.loading=!1,this.answered=!1,this.begun=!1,this.abort=new AbortController,this.timer=0,this.whenVisible=()=>{!document.hidden&&this.options.every&&!this.loading&&this.run()},e.addController(this)}hostConnected(){document.addEventListener(`visibilitychange`,this.whenVisible)}hostUpdate(){let e=this.options.key?.();this.begun&&e===this.loadedKey||(this.value=this.error=void 0,this.answered=!1,[this.begun,this.loadedKey]=[!0,e],this.run())}hostDisconnected(){document.removeEventListener(`visibilitychange`,this.whenVisible),this.begun=!1,this.stop()}async run(){this.stop();let{signal:e}=this.abort=new AbortController;this.loading=!0;try{let t=await this.load(e);if(e.aborted)return;[this.value,this.error,this.answered]=[t,void 0,!0]}catch(t){if(e.aborted)return;this.error=t}this.loading=!1,this.host.requestUpdate();let{every:t}=this.options;t&&(this.timer=window.setTimeout(this.whenVisible,typeof t==`number`?t:t()))}show(e){return!this.answered&&!this.error?_`<p class="quiet" role="status">Loading …</p>`:_`${this.error?En(this.error,()=>void this.run()):y}${this.answered?e(this.value):y}`}stop(){this.abort.abort(),this.loading=!1,clearTimeout(this.timer)}},wn={DECISION_NOT_FOUND:`The journal is bounded: the decision is forgotten, or the process was restarted since.`,DECISION_NOT_REPEATABLE:`Explain the pod as of now instead.`,CONFIGURATION_NOT_FOUND:`Only the last configurations since the start are remembered: compare with another one.`,NOT_IMPLEMENTED:`This process does not answer that: select another one, or turn the journal on.`,POD_NOT_FOUND:`The pod is gone, or not known yet.`,SESSION_EXPIRED:`The copy of the cluster is too old: start over.`,SESSION_NOT_FOUND:`The copy of the cluster ended after ten minutes without a call: start over.`,NOT_SYNCED:`The process is still reading the cluster.`,UNAVAILABLE:`The process can't be reached: is it running, and is its address right?`,RESOURCE_EXHAUSTED:`It has too much to do: wait a moment.`},Tn=new Set([`DECISION_NOT_FOUND`,`DECISION_NOT_REPEATABLE`,`CONFIGURATION_NOT_FOUND`,`NOT_IMPLEMENTED`]);function En(e,t,n=`Try again`){let{code:r=``,reason:i=``}=e instanceof hn?e:{};return _`<div class="failure" role="alert">
    <p><strong>${e.message}</strong></p>
    <p>${wn[i]??wn[r]??y}</p>
    ${Tn.has(i)?y:_`<button @click=${t}>${n}</button>`}
  </div>`}function G(e,t){return(e??``).replace(t,``).replaceAll(`_`,` `).toLowerCase()}function Dn(e){return G(e,`EXTENSION_POINT_`).replace(/(?:^| )(\w)/g,(e,t)=>t.toUpperCase())}function K(e){return`${e?.namespace??``}/${e?.name??``}`}function On(e){return e?.reason?`${e.plugin?`${e.plugin}: `:``}${e.reason}`:``}function kn(e){if(e.result===`DECISION_RESULT_SCHEDULED`)return{mark:`✓`,text:e.node||`feasible`,tone:`good`};let t=On(e.dominant)||e.verdict?.message||(e.verdict?.reasons??[]).join(`, `);return e.result===`DECISION_RESULT_UNSCHEDULABLE`?{mark:`✕`,text:t,tone:`bad`}:{mark:`⚠`,text:t||G(e.result,`DECISION_RESULT_`),tone:`warn`}}function q(e){return/^[\w./:=@%+,-]+$/.test(e)?e:`'${e.replaceAll(`'`,`'\\''`)}'`}var An=(function(){let e=typeof document<`u`&&document.createElement(`link`).relList;return e&&e.supports&&e.supports(`modulepreload`)?`modulepreload`:`preload`})(),jn=function(e,t){return new URL(e,t).href},Mn={},Nn=function(e){return e.pathname.endsWith(`.css`)},Pn=function(e,t,n){if(t in e)return e[t];let r=n();if(!r){e[t]=void 0;return}let i=r.then(()=>{e[t]=void 0},n=>{throw e[t]=void 0,n});return e[t]=i,i},Fn=function(e,t,n){let r=Promise.resolve();if(t&&t.length>0){let e,i=document.querySelector(`meta[property=csp-nonce]`),a=i?.nonce||i?.getAttribute(`nonce`);function o(e){return Promise.all(e.map(e=>Promise.resolve(e).then(e=>({status:`fulfilled`,value:e}),e=>({status:`rejected`,reason:e}))))}function s(e){return import.meta.resolve?new URL(import.meta.resolve(e)):new URL(e,import.meta.url)}r=o(t.map(t=>{t=jn(t,n);let r=s(t),i=Nn(r);return Pn(Mn,r.href,()=>{if(e===void 0){e={all:new Set,styles:new Set};let t=document.getElementsByTagName(`link`);for(let n=t.length-1;n>=0;n--){let r=t[n];e.all.add(r.href),r.rel===`stylesheet`&&e.styles.add(r.href)}}if((i?e.styles:e.all).has(r.href))return;let t=document.createElement(`link`);if(t.rel=i?`stylesheet`:An,i||(t.as=`script`),t.crossOrigin=``,t.href=r.href,a&&t.setAttribute(`nonce`,a),document.head.appendChild(t),i)return new Promise((e,n)=>{let i=a=>{t.removeEventListener(`load`,i),t.removeEventListener(`error`,i),a.type===`error`?n(Error(`Unable to preload CSS for ${r}`)):e(a)};t.addEventListener(`load`,i),t.addEventListener(`error`,i)})})}).filter(e=>e!==void 0))}function i(e){let t=new Event(`vite:preloadError`,{cancelable:!0});if(t.payload=e,window.dispatchEvent(t),!t.defaultPrevented)throw e}return r.then(t=>{for(let e of t||[])e.status===`rejected`&&i(e.reason);return e().catch(i)})};async function In(e){let{load:t}=await Fn(async()=>{let{load:e}=await import(`./js-yaml.js`);return{load:e}},[],import.meta.url),n=t(e);if(typeof n!=`object`||!n)throw Error(`A manifest is expected: a Pod, or what makes pods.`);if(n.kind===`Pod`)return n;let r=n.spec?.template??(n.spec?.jobTemplate)?.spec?.template;if(!r?.spec)throw Error(`A Pod, or what makes pods, is expected, not ${n.kind??`this`}.`);let{name:i=`pod`,namespace:a=`default`}=n.metadata??{};return{apiVersion:`v1`,kind:`Pod`,metadata:{...r.metadata,name:`${i}-what-if`,namespace:a},spec:r.spec}}function Ln({metadata:e,spec:t}){let{podGroupName:n}=t?.schedulingGroup??{};return n?{namespace:e?.namespace??`default`,name:n}:void 0}async function Rn(e){let{dump:t}=await Fn(async()=>{let{dump:e}=await import(`./js-yaml.js`);return{dump:e}},[],import.meta.url);return t(e)}function zn(e){let t=new TextEncoder().encode(JSON.stringify(e));return{json:btoa(Array.from(t,e=>String.fromCharCode(e)).join(``))}}async function J(e,t,n,r){let{object:i}=await U(`ClusterService/GetObject`,{kind:e,namespace:t,name:n},r),a=Uint8Array.from(atob(i?.json??``),e=>e.charCodeAt(0));return JSON.parse(new TextDecoder().decode(a))}var Bn=class extends S{constructor(...e){super(...e),this.namespace=``,this.name=``,this.open=!1,this.text=new W(this,e=>this.read(e),{key:()=>`${this.namespace}/${this.name} ${this.open}`})}static{this.styles=[E]}render(){return _`<details class="card" @toggle=${e=>this.open=e.target.open}>
      <summary>Manifest, as far as scheduling reads it</summary>
      ${this.text.show(e=>_`<pre tabindex="0" aria-label="Manifest">${e}</pre>`)}
    </details>`}async read(e){return this.open?Rn(await J(`Pod`,this.namespace,this.name,e)):``}};D([w()],Bn.prototype,`namespace`,void 0),D([w()],Bn.prototype,`name`,void 0),D([T()],Bn.prototype,`open`,void 0),Bn=D([C(`mooring-manifest`)],Bn);var Vn=class extends S{constructor(...e){super(...e),this.seq=``,this.again=!1,this.record=new W(this,e=>Un(this.seq,e),{key:()=>this.seq}),this.columns=new W(this,e=>gn(this.seq,this.again,e),{key:()=>`${this.seq} ${this.again}`}),this.attempts=new W(this,e=>this.listAttempts(e),{key:()=>K(this.record.value?.pod)})}static{this.styles=[E,o`
      ol {
        list-style: none;
        display: flex;
        overflow-x: auto;
        padding: var(--s1) 0;
      }
      li {
        flex: 0 0 auto;
        border-top: 2px solid var(--edge);
        padding: var(--s2) var(--s4) 0 0;
        position: relative;
      }
      li::before {
        content: "";
        position: absolute;
        top: -6px;
        width: 10px;
        height: 10px;
        border-radius: 50%;
        background: var(--raised);
        border: 2px solid var(--edge);
      }
      li.now::before {
        background: var(--accent);
        border-color: var(--accent);
      }
      li a {
        display: block;
        max-width: 14rem;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
    `]}willUpdate(e){e.has(`seq`)&&(this.again=!1)}render(){return _`<div class="stack">
      <div class="row between">
        <h1>Decision ${this.seq}</h1>
        <div class="row">
          <button aria-pressed=${this.again} title="Made again as of then, with every rejection of each node" @click=${()=>this.again=!this.again}>
            Make it again
          </button>
          ${this.record.value?_`<mooring-copy .copies=${this.copies(this.record.value)}></mooring-copy>`:y}
        </div>
      </div>
      ${this.record.show(e=>e?this.facts(e):y)}
      ${this.columns.show(e=>_`<mooring-decision .columns=${e} .nodesWith=${xn}></mooring-decision>`)}
      ${this.columns.error&&this.record.value?Wn(this.record.value):y}
      ${this.attempts.value&&this.attempts.value.length>1?this.timeline(this.attempts.value):y}
      ${this.record.value?Gn(this.record.value):y}
    </div>`}facts(e){let{pod:t,provenance:n,node:r,queueWait:i}=e;return _`<dl class="facts">
      ${[[`Pod`,_`<a href=${V([`pods`,t?.namespace??``,t?.name??``])}>${K(t)}</a>`],[`Made`,_`<time datetime=${e.time} title=${e.time}>${j(e.time)} ago</time>`],[`Kind`,G(e.kind,`DECISION_KIND_`)],[`Node`,r?_`<a href=${V([`nodes`,r])}>${r}</a>`:``],[`Attempt`,e.attempt?O(e.attempt):``],[`Waited`,i?lt(i):``],[`Took`,lt(e.duration)],[`Profile`,_`<a href=${V([`profiles`])}>${n?.profile??``}</a>`],[`Configuration`,Hn(n?.configurationHash??``)],[`State`,`version ${n?.stateVersion??0}`],[`Trace`,e.traceId??``]].map(([e,t])=>t?_`<div><dt>${e}</dt><dd>${t}</dd></div>`:y)}
    </dl>`}copies(e){let t=e.attempt?` --attempt ${e.attempt}`:``;return[{name:`CLI`,text:`mooring explain ${q(K(e.pod))}${t}`},{name:`JSON`,text:JSON.stringify(e,void 0,2)},{name:`curl`,text:`curl -s ${q(bn(`decisions/${this.seq}/columns`))}`}]}timeline(e){return _`<section class="card stack tight" aria-labelledby="attempts">
      <h2 id="attempts">All decisions about this pod</h2>
      <ol>
        ${e.map((t,n)=>{let[r,i]=[t,e[n-1]].map(e=>e?.provenance?.configurationHash??``),{mark:a,text:o,tone:s}=kn(t),c=t.seq===this.seq;return _`<li class=${c?`now`:``}>
            <a href=${V([`decisions`,t.seq])} aria-current=${c?`true`:y} title=${o}>
              <span class=${s}>${a}</span> ${o}</a
            >
            <span class="quiet">${G(t.kind,`DECISION_KIND_`)}, ${j(t.time)} ago</span>
            ${i&&i!==r?Hn(i,r):y}
          </li>`})}
      </ol>
    </section>`}async listAttempts(e){let t=this.record.value?.pod;return t?(await U(`DecisionService/ListDecisions`,{filter:{namespace:t.namespace??``,pod:t.name??``},limit:50},e)).decisions??[]:[]}};D([w()],Vn.prototype,`seq`,void 0),D([T()],Vn.prototype,`again`,void 0),Vn=D([C(`mooring-decision-view`)],Vn);function Hn(e,t=``){if(!e)return y;let n=t?`another configuration`:_`<span class="mono">${e.slice(0,8)}</span>`;return _`<a href=${V([`profiles`],{from:e,to:t})} title="What differs ${t?`between them`:`today`}">${n}</a>`}async function Un(e,t){return(await U(`DecisionService/ListDecisions`,{afterSeq:String(Number(e)-1),limit:1},t)).decisions?.find(t=>t.seq===e)}function Wn({pod:e}){return _`<p><a href=${V([`pods`,e?.namespace??``,e?.name??``])}>Explain ${K(e)} as of now</a></p>`}function Gn({pod:e}){return _`<mooring-manifest .namespace=${e?.namespace??``} .name=${e?.name??``}></mooring-manifest>`}function Y(e,t,n,r){let i=`curl -s ${q(bn(yn(t)))} -H 'content-type: application/json' -d ${q(JSON.stringify(n))}`;return[{name:`CLI`,text:e},{name:`JSON`,text:JSON.stringify(r,void 0,2)},{name:`curl`,text:i}]}var Kn=500,qn=`15s`,Jn=500,Yn=2e3,Xn=[`DECISION_RESULT_SCHEDULED`,`DECISION_RESULT_UNSCHEDULABLE`,`DECISION_RESULT_ERROR`,`DECISION_RESULT_FAILED`],Zn=[[`namespace`,`Namespace`],[`pod`,`Pod`],[`selector`,`Labels`],[`node`,`Node`],[`profile`,`Profile`],[`plugin`,`Rejected by`],[`margin`,`Margin at most`]],X=class extends S{constructor(...e){super(...e),this.query=new URLSearchParams,this.shown=[],this.waiting=[],this.paused=!1,this.missed=0,this.loaded=!1,this.abort=new AbortController,this.take=()=>{this.shown=[...this.waiting,...this.shown].slice(0,Kn),this.waiting=[]},this.pause=()=>{this.paused=!this.paused,this.paused||this.take()},this.onFacet=e=>{let{name:t,value:n}=e.target;H({[t]:n.trim()})}}static{this.styles=[E,o`
      .facets {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
      }
      .facets > label {
        display: grid;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .facets input,
      .facets select {
        width: 100%;
        color: var(--text);
      }
      mooring-grid {
        --grid-height: calc(100vh - 16rem);
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.abort.abort()}willUpdate(e){e.has(`query`)&&this.query.toString()!==this.asked&&this.begin()}render(){return _`<div class="stack">
      <div class="row between">
        <h1>Decisions</h1>
        <div class="row">
          <span class="quiet" role="status">${this.progress()}</span>
          ${this.waiting.length?_`<button class="primary" @click=${this.take}>Show ${k(this.waiting.length,`new one`)}</button>`:y}
          <button aria-pressed=${this.paused} @click=${this.pause}>${this.paused?`Paused`:`Pause`}</button>
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      <form class="row facets" @submit=${e=>e.preventDefault()} @change=${this.onFacet}>
        ${Zn.map(([e,t])=>_`<label>${t}<input name=${e} autocomplete="off" spellcheck="false" .value=${this.query.get(e)??``} /></label>`)}
        <label
          >Result<select name="result">
            <option value="">all</option>
            ${Xn.map(e=>{let t=G(e,`DECISION_RESULT_`);return _`<option value=${t} ?selected=${this.query.get(`result`)===t}>${t}</option>`})}
          </select></label
        >
      </form>
      ${this.error?En(this.error,()=>this.begin()):y}
      ${$n(`Decisions, the newest first`,this.shown,this.error?`Nothing was listed.`:this.loaded?`No decision yet, or none that matches.`:`Loading …`)}
    </div>`}progress(){let e=this.missed?` · ${O(this.missed)} passed over`:``;return`${O(this.shown.length)} shown${e}`}copies(){let e=[...this.query].filter(([e,t])=>e!==`process`&&t).map(([e,t])=>`--${e} ${q(t)}`),t={filter:this.filter()};return Y([`mooring decisions`,...e].join(` `),`DecisionService/ListDecisions`,t,this.shown)}filter(){let e={},{query:t}=this;for(let n of[`namespace`,`pod`,`node`,`profile`])t.get(n)&&(e[n]=t.get(n));/^\d+$/.test(t.get(`margin`)??``)&&(e.maxMargin=t.get(`margin`)),t.get(`selector`)&&(e.labelSelector=t.get(`selector`)),t.get(`plugin`)&&(e.rejectingPlugin=t.get(`plugin`));let n=Xn.find(e=>G(e,`DECISION_RESULT_`)===t.get(`result`));return n&&(e.results=[n]),e}begin(){this.abort.abort(),this.abort=new AbortController,this.asked=this.query.toString(),[this.shown,this.waiting,this.missed,this.error,this.loaded]=[[],[],0,void 0,!1],this.follow(this.abort.signal)}async follow(e){let t;for(;!e.aborted;){try{let n=await this.ask(t,e);if(t&&n.journalId!==t.journalId)return this.begin();t={...n,nextAfterSeq:this.goOn(n)},this.add(n.decisions??[])}catch(t){e.aborted||(this.error=t)}await Qn(this.error||t?.waitRefused?Yn:Jn)}}ask(e,t){let n={filter:this.filter(),limit:Kn};return e&&Object.assign(n,{afterSeq:e.nextAfterSeq??`0`,wait:qn}),U(`DecisionService/ListDecisions`,n,t)}goOn({nextAfterSeq:e=`0`,lastSeq:t=`0`,missedCount:n=`0`}){let r=Math.max(0,Number(t)-Number(e)-Kn);return this.missed+=Number(n)+r,String(Number(e)+r)}add(e){if(this.loaded=!0,this.error=void 0,!e.length)return;let t=[...e].reverse();this.paused?this.waiting=[...t,...this.waiting].slice(0,Kn):this.shown=[...t,...this.shown].slice(0,Kn)}};D([w({attribute:!1})],X.prototype,`query`,void 0),D([T()],X.prototype,`shown`,void 0),D([T()],X.prototype,`waiting`,void 0),D([T()],X.prototype,`paused`,void 0),D([T()],X.prototype,`missed`,void 0),D([T()],X.prototype,`loaded`,void 0),D([T()],X.prototype,`error`,void 0),X=D([C(`mooring-decisions`)],X);function Qn(e){return new Promise(t=>setTimeout(t,e))}function $n(e,t,n=`None is remembered.`){return _`<mooring-grid
    label=${e}
    .columns=${er}
    .rows=${t}
    .keyOf=${e=>e.seq}
    empty=${n}
    @mooring-open=${e=>location.hash=V([`decisions`,e.detail.seq])}
  ></mooring-grid>`}var er=[{id:`pod`,title:`Pod`,width:`min(16rem, 42vw)`,cell:({pod:e,seq:t})=>_`<a tabindex="-1" href=${V([`decisions`,t])} title=${K(e)}>${K(e)}</a>`},{id:`outcome`,title:`Outcome`,width:`minmax(14rem, 1fr)`,cell:e=>{let{mark:t,text:n,tone:r}=kn(e);return _`<span class=${r} title=${n}>${t} ${n}</span>`}},{id:`time`,title:`Time`,width:`6rem`,cell:({time:e})=>_`<time datetime=${e} title=${`${j(e)} ago`}>${tr(e)}</time>`},{id:`kind`,title:`Kind`,width:`5.5rem`,cell:({kind:e})=>G(e,`DECISION_KIND_`)},{id:`margin`,title:`Margin`,width:`5rem`,numeric:!0,cell:({node:e,tieCount:t=0,runnerUpNode:n,total:r=`0`,runnerUpTotal:i=`0`})=>e&&t>1?_`<span title="${k(t,`node`)} had the highest total">tied</span>`:n?O(Number(r)-Number(i)):``},{id:`feasible`,title:`Feasible`,width:`7.5rem`,numeric:!0,cell:({feasibleCount:e=0,evaluatedCount:t=0})=>t?`${O(e)} of ${O(t)}`:O(e)},{id:`attempt`,title:`Attempt`,width:`5rem`,numeric:!0,cell:({attempt:e})=>e?O(e):``},{id:`duration`,title:`Took`,width:`6rem`,numeric:!0,cell:e=>lt(e.duration)},{id:`profile`,title:`Profile`,width:`8rem`,cell:({provenance:e})=>e?.profile??``}];function tr(e){return e?new Date(e).toLocaleTimeString(`en-GB`):``}var nr=1e3,rr=class extends S{constructor(...e){super(...e),this.query=new URLSearchParams,this.pods=new W(this,ar,{every:5e3})}static{this.styles=[E,o`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: 20rem;
      }
    `]}render(){let e=(this.query.get(`name`)??``).toLowerCase(),t=this.query.get(`show`)??``;return _`<div class="stack">
      <div class="row between">
        <h1>Pods</h1>
        <div class="row">
          <span class="segments" role="group" aria-label="Which pods">
            ${[[``,`All`],[`pending`,`Pending`]].map(([e,n])=>_`<button aria-pressed=${t===e} @click=${()=>H({show:e})}>${n}</button>`)}
          </span>
          <input
            type="search"
            aria-label="Filter by namespace or name"
            placeholder="Filter by namespace or name"
            .value=${e}
            @input=${e=>H({name:e.target.value})}
          />
          <mooring-copy
            .copies=${Y(`mooring why-pending`,`ClusterService/ListPendingPods`,{},this.pods.value??[])}
          ></mooring-copy>
        </div>
      </div>
      ${this.pods.show(n=>_`<mooring-grid
          label="Pods"
          .columns=${ir}
          .rows=${n.filter(({pod:n,pending:r})=>(!t||r)&&K(n).toLowerCase().includes(e))}
          .keyOf=${e=>K(e.pod)}
          empty=${n.length?`No pod matches.`:`No pod is pending, and none was decided about.`}
          @mooring-open=${e=>location.hash=Z(e.detail.pod)}
        ></mooring-grid>`)}
    </div>`}};D([w({attribute:!1})],rr.prototype,`query`,void 0),rr=D([C(`mooring-pods`)],rr);function Z(e){return V([`pods`,e?.namespace??``,e?.name??``])}var ir=[{id:`pod`,title:`Pod`,width:`min(18rem, 45vw)`,cell:({pod:e})=>_`<a tabindex="-1" href=${Z(e)} title=${K(e)}>${K(e)}</a>`},{id:`state`,title:`State`,width:`7rem`,cell:({pending:e})=>e?_`<span class="warn">… pending</span>`:_`<span class="good">✓ placed</span>`},{id:`outcome`,title:`Last decision`,width:`minmax(16rem, 1fr)`,cell:({decision:e})=>{if(!e)return _`<span class="quiet">none remembered</span>`;let{mark:t,text:n,tone:r}=kn(e);return _`<span class=${r} title=${n}>${t} ${n}</span>`}},{id:`decided`,title:`Decided`,width:`6rem`,numeric:!0,cell:({decision:e})=>j(e?.time)},{id:`attempt`,title:`Attempts`,width:`6rem`,numeric:!0,cell:({decision:e})=>e?.attempt?O(e.attempt):y},{id:`owner`,title:`Owner`,width:`14rem`,cell:({pending:e,decision:t})=>{let{controllerKind:n,controllerName:r}=e??t??{};return n?`${n} ${r}`:``}}];async function ar(e){let[{pods:t=[]},n]=await Promise.all([U(`ClusterService/ListPendingPods`,{},e),or(e)]),r=new Map;for(let e of n.reverse()){let t=K(e.pod);r.has(t)||r.set(t,e)}let i=t.map(e=>({pod:e.pod,pending:e,decision:r.get(K(e.pod))})),a=new Set(i.map(({pod:e})=>K(e))),o=[...r].filter(([e,{result:t}])=>!a.has(e)&&t===`DECISION_RESULT_SCHEDULED`);return[...i,...o.map(([,e])=>({pod:e.pod,pending:void 0,decision:e}))]}async function or(e){try{return(await U(`DecisionService/ListDecisions`,{limit:nr},e)).decisions??[]}catch{return e.throwIfAborted(),[]}}var sr=12,cr=class extends S{constructor(...e){super(...e),this.name=``,this.facts=new W(this,e=>dr(this.name,e),{key:()=>this.name}),this.verdicts=new W(this,e=>fr(this.name,e),{key:()=>this.name}),this.selections=new W(this,e=>this.listSelections(e),{key:()=>this.name,every:1e4})}static{this.styles=[E,o`
      .usage {
        display: grid;
        grid-template-columns: minmax(4rem, max-content) minmax(5rem, 1fr) max-content;
        gap: var(--s1) var(--s3);
        align-items: center;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--accent) var(--share), var(--sunken) var(--share));
      }
      .labels {
        list-style: none;
        display: flex;
        flex-wrap: wrap;
        gap: var(--s1);
      }
      .labels li {
        background: var(--sunken);
        border-radius: var(--radius);
        padding: 0 var(--s2);
        overflow-wrap: anywhere;
      }
      .verdicts {
        list-style: none;
      }
      .verdicts > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
      }
      .verdicts p {
        overflow-wrap: anywhere;
      }
    `]}render(){return _`<div class="stack">
      <div class="row between">
        <h1>${this.name}</h1>
        <div class="row">
          <a href=${V([`what-if`],{node:this.name})}>What if it goes?</a>
          <mooring-copy
            .copies=${[{name:`CLI`,text:`mooring decisions --node ${q(this.name)}`},{name:`JSON`,text:JSON.stringify(this.facts.value?.node??{},void 0,2)},{name:`kubectl`,text:`kubectl describe node ${q(this.name)}`}]}
          ></mooring-copy>
        </div>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="room">
          <h2 id="room">What its pods request</h2>
          ${this.facts.show(e=>lr(e))}
        </section>
        <section class="card stack tight" aria-labelledby="why">
          <h2 id="why">${this.selections.value?.length?`What of the pods that wait?`:`Why does nothing land here?`}</h2>
          ${this.verdicts.show(e=>ur(e))}
        </section>
      </div>
      <section class="stack tight" aria-labelledby="selections">
        <h2 id="selections">Decisions that selected it</h2>
        ${this.selections.show(e=>$n(`Decisions that selected this node, the newest first`,e))}
      </section>
    </div>`}async listSelections(e){return((await U(`DecisionService/ListDecisions`,{filter:{node:this.name},limit:200},e)).decisions??[]).reverse()}};D([w()],cr.prototype,`name`,void 0),cr=D([C(`mooring-node`)],cr);function lr({node:e,usages:t}){let n=e.spec?.taints??[];return _`${e.spec?.unschedulable?_`<p class="warn">⚠ Cordoned: it takes no new pods.</p>`:y}
    ${n.map(({key:e,value:t,effect:n})=>_`<p class="warn">⚠ Taint <span class="mono">${e}${t?`=${t}`:``}:${n}</span></p>`)}
    <div class="usage">
      ${t.map(({resource:e,used:t,all:n})=>_`<span>${e}</span>
            <span class="track" aria-hidden="true" .style=${`--share: ${n?100*t/n:0}%`}></span>
            <span>${A(e,t)} of ${A(e,n)}</span>`)}
    </div>
    <ul class="labels mono" aria-label="Labels">
      ${Object.entries(e.metadata?.labels??{}).map(([e,t])=>_`<li>${e}=${t}</li>`)}
    </ul>`}function ur(e){return e.length?_`<ul class="verdicts">
    ${e.map(({pod:e,count:t,rejections:n})=>_`<li class="stack tight">
          <p>
            <a href=${Z(e)}>${K(e)}</a>${t>1?_` <span class="quiet">and ${O(t-1)} more</span>`:y}
            ${n.length?y:_`<span class="good">✓ would be taken</span>`}
          </p>
          ${n.map(({plugin:e,reasons:t=[]})=>_`<p><span class="bad">✕</span> <strong>${e}</strong>: ${t.join(`, `)}</p>
                <p class="quiet">${gt(e,t[0])}</p>`)}
        </li>`)}
  </ul>`:_`<p class="empty">✓ No pod waits for a node.</p>`}async function dr(e,t){let n=await J(`Node`,``,e,t),r=n.status?.allocatable??{},i=Object.fromEntries(Object.keys(r).filter(e=>e!==`pods`).map(e=>[e,e===`cpu`?`1m`:`1`])),{resources:a=[]}=await mr(e,{object:zn({apiVersion:`v1`,kind:`Pod`,metadata:{name:`probe`,namespace:`default`},spec:{containers:[{name:`probe`,resources:{requests:i,limits:i}}]}})},t);return{node:n,usages:a.map(({name:e=``,free:t=[]})=>{let n=ot(e,r[e]??`0`);return{resource:e,all:n,used:n-Number(t[0]??0)}})}}async function fr(e,t){let{groups:n=[]}=await U(`DecisionService/SummarizeReasons`,{limit:sr,askNow:!0},t),r=n.flatMap(e=>e.examples?.[0]?[[e,e.examples[0]]]:[]);return Promise.all(r.map(async([{podCount:n=1},r])=>({pod:r,count:n,rejections:pr(await mr(e,{reference:r},t))})))}function pr({verdicts:e,rejections:t}){let n=t?.verdicts??e?.nodeVerdicts??[];return[...new Set(n)].filter(Boolean).map(t=>e.distinct[t])}function mr(e,t,n){return U(`SchedulingService/Explain`,{pod:t,nodes:{names:{names:[e]}},allRejections:!0},n)}var hr=1e3,gr=class extends S{constructor(...e){super(...e),this.query=new URLSearchParams,this.sorting={column:`name`,descending:!1},this.nodes=new W(this,e=>yr(this.selector(),e),{every:1e4,key:()=>this.selector()})}static{this.styles=[E,o`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: 20rem;
      }
    `]}render(){let e=this.query.get(`name`)??``,t=this.selector()?``:e.toLowerCase();return _`<div class="stack">
      <div class="row between">
        <h1>Nodes</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Filter by name or labels"
            placeholder="Filter by name or labels, such as zone=a"
            .value=${e}
            @input=${e=>H({name:e.target.value})}
          />
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      ${this.nodes.show(({rows:e,decisions:n})=>{let r=e.filter(({name:e})=>e.toLowerCase().includes(t)).sort(this.compare());return _`<p class="quiet">${k(r.length,`node`)}; selections are those of the last ${k(n,`decision`)}</p>
          <mooring-grid
            label="Nodes"
            .columns=${vr}
            .rows=${r}
            .keyOf=${e=>e.name}
            .sorting=${this.sorting}
            empty="No node matches."
            @mooring-sort=${e=>this.sort(e.detail)}
            @mooring-open=${e=>location.hash=V([`nodes`,e.detail.name])}
          ></mooring-grid>`})}
    </div>`}copies(){let e=this.selector();return Y(`kubectl get nodes${e?` -l ${q(e)}`:``}`,`ClusterService/ListNodes`,{labelSelector:e},this.nodes.value?.rows??[])}selector(){let e=this.query.get(`name`)??``;return qt(e)?e:``}sort(e){let t=this.sorting.column===e?!this.sorting.descending:e===`selected`;this.sorting={column:e,descending:t}}compare(){let e=this.sorting.descending?-1:1;return this.sorting.column===`selected`?(t,n)=>e*(t.selected-n.selected):(t,n)=>e*_r.compare(t.name,n.name)}};D([w({attribute:!1})],gr.prototype,`query`,void 0),D([T()],gr.prototype,`sorting`,void 0),gr=D([C(`mooring-nodes`)],gr);var _r=new Intl.Collator(`en`,{numeric:!0}),vr=[{id:`name`,title:`Node`,width:`min(26rem, 60vw)`,sortable:!0,cell:({name:e})=>_`<a tabindex="-1" href=${V([`nodes`,e])} title=${e}>${e}</a>`},{id:`selected`,title:`Selected`,width:`7rem`,numeric:!0,sortable:!0,cell:({selected:e})=>O(e)},{id:`last`,title:`Last selected for`,width:`minmax(16rem, 1fr)`,cell:({last:e})=>e?_`<a tabindex="-1" href=${V([`decisions`,e.seq])}>${K(e.pod)}</a> <span class="quiet">${j(e.time)} ago</span>`:_`<span class="quiet">–</span>`}];async function yr(e,t){let[n,r]=await Promise.all([xn(e,t),br(t)]),i=new Map(n.map(e=>[e,{name:e,selected:0,last:void 0}]));for(let e of r){let t=i.get(e.node??``);t&&([t.selected,t.last]=[t.selected+1,e])}return{rows:[...i.values()],decisions:r.length}}async function br(e){try{return(await U(`DecisionService/ListDecisions`,{limit:hr},e)).decisions??[]}catch{return e.throwIfAborted(),[]}}var xr=5e3,Sr=6e4,Cr=30,wr=1e3,Tr=class extends S{constructor(...e){super(...e),this.info=new W(this,e=>U(`ClusterService/GetClusterInfo`,{},e),{every:xr}),this.reasons=new W(this,e=>U(`DecisionService/SummarizeReasons`,{askNow:!0},e),{every:()=>this.reasons.value?.askedCount&&!this.reasons.value.unexplainedCount?Sr:xr}),this.latest=new W(this,Dr,{every:xr})}static{this.styles=[E,o`
      .tiles {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(11rem, 40vw), 1fr));
        gap: var(--s3);
      }
      .tile {
        display: flex;
        flex-direction: column;
        padding: var(--s3) var(--s4);
      }
      .tile dd {
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      .tile dt {
        color: var(--quiet);
      }
      .tile dd:nth-of-type(1) {
        font-size: 1.375rem;
        line-height: 1.4;
        font-weight: 600;
        letter-spacing: -0.01em;
      }
      .groups {
        list-style: none;
        display: grid;
        gap: var(--s3);
      }
      .group {
        display: grid;
        grid-template-columns: 5.5rem minmax(0, 1fr) 8rem;
        gap: var(--s1) var(--s4);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
        line-height: 1.3;
      }
      .group p {
        overflow-wrap: anywhere;
      }
      svg {
        display: block;
        width: 100%;
        height: 32px;
        color: var(--bad);
      }
      @media (max-width: 40rem) {
        .group {
          grid-template-columns: 3.5rem minmax(0, 1fr);
        }
        .trend {
          grid-column: 2;
          max-width: 10rem;
        }
      }
    `]}render(){return _`<div class="stack">
      <h1>Overview</h1>
      ${this.info.show(e=>this.tiles(e))}
      <section class="stack tight" aria-labelledby="attention">
        <div class="row between">
          <h2 id="attention">Needs attention</h2>
          ${this.reasons.value?_`<mooring-copy
                .copies=${Y(`mooring why-pending`,`DecisionService/SummarizeReasons`,{askNow:!0},this.reasons.value)}
              ></mooring-copy>`:y}
        </div>
        ${this.reasons.show(kr)}
      </section>
    </div>`}tiles(e){let t=e.provenance?.configurationHash??``,n=Math.max(0,...(e.sources??[]).map(e=>Number(e.stalenessSeconds??0))),r=(e.sources??[]).flatMap(e=>e.error?[`${e.name}: ${e.error}`]:[]),i=e.pendingPodCount??0;return _`<dl class="tiles">
        ${Or(`Cluster state`,_`<span class=${e.synced?`good`:`warn`}>${e.synced?`✓ synced`:`… reading`}</span>`,[n>Cr?_`<span class="warn">⚠ ${ut(n)} old</span>`:this.source(e)])}
        ${Or(`Decisions`,_`${this.rate()}`,[Er(e)])}
        ${Or(`Pending pods`,_`<span class=${i?`warn`:`good`}>${i?``:`✓ `}${O(i)}</span>`,[_`of ${k(e.podCount??0,`pod`)}`])}
        ${Or(`Nodes`,_`${O(e.nodeCount??0)}`,[_`Kubernetes ${e.kubeVersion} rules`])}
        ${Or(`Configuration`,_`<span class="mono" title=${t}>${t.slice(0,8)}</span>`,[_`<a href=${V([`profiles`])}>in force for ${j(e.configurationTime)}</a>`,_`mooring ${e.serverVersion}, up ${j(e.startTime)}`])}
      </dl>
      ${r.map(e=>_`<p class="failure" role="alert">${e}</p>`)}`}source(e){let t=(e.sources??[]).map(e=>e.name).join(`, `);return _`<span title=${t}>${t}</span>`}rate(){let e=this.latest.value;if(!e?.length)return e?`none yet`:`–`;let t=(Date.now()-Date.parse(e[0].time??``))/1e3,n=e.length/Math.max(1,t);return n>=.1?`${O(n)}/s`:`last ${j(e.at(-1).time)} ago`}};Tr=D([C(`mooring-overview`)],Tr);function Er({leads:e=!1,leader:t=``}){return e?_`${t?`✓ leads, `:y}<a href=${V([`decisions`])}>as they are made</a>`:_`<span class="warn" title=${t}>⚠ waits: ${t||`no process`} leads</span>`}async function Dr(e){return(await U(`DecisionService/ListDecisions`,{limit:wr},e)).decisions??[]}function Or(e,t,n){return _`<div class="card tile">
    <dt>${e}</dt>
    <dd>${t}</dd>
    ${n.map(e=>_`<dd class="quiet">${e}</dd>`)}
  </div>`}function kr({groups:e=[],groupCount:t=0,askedCount:n=0,unexplainedCount:r=0}){return!e.length&&!r?_`<p class="card">✓ No pod waits for a node.</p>`:_`${n?_`<p class="quiet">${k(n,`pod`)} evaluated now, each by itself: no decision about them is remembered.</p>`:y}
    <ul class="groups">
      ${e.map(Ar)}
    </ul>
    ${t>e.length?_`<p class="quiet">… and ${k(t-e.length,`more group`)}</p>`:y}
    ${r?_`<p class="quiet">
          … and ${k(r,`more pod`)} without a node, not evaluated yet.
          <a href=${V([`pods`],{show:`pending`})}>Ask about one</a>
        </p>`:y}`}function Ar(e){let t=e.podCount??0,n=e.controllerKind?`${e.controllerKind} ${e.namespace}/${e.controllerName}`:`pods of ${e.namespace}`,r=e.reason?.nodeCount?` on ${k(e.reason.nodeCount,`node`)}`:``;return _`<li class="card group">
    <div>
      <div class="count">${O(t)}</div>
      <div class="quiet">${t===1?`pod`:`pods`}</div>
    </div>
    <div class="stack tight">
      <p><strong>${n}</strong> ${e.oldestTime?_`<span class="quiet">· oldest ${j(e.oldestTime)}</span>`:y}</p>
      ${e.result===`DECISION_RESULT_SCHEDULED`?_`<p><span class="good">✓</span> ${e.message}${r}</p>`:_`<p><span class="bad">✕</span> ${On(e.reason)||e.message}${r}</p>
            <p>→ ${gt(e.reason?.plugin,e.reason?.reason)}</p>`}
      <p class="row">
        ${e.lastSeq?_`<a href=${V([`decisions`,e.lastSeq])}>Newest decision</a>`:y}
        ${(e.examples??[]).map(e=>_`<a href=${V([`pods`,e.namespace??``,e.name??``])}>${K(e)}</a>`)}
      </p>
    </div>
    ${e.lastSeq?jr(e.trend??[]):y}
  </li>`}function jr(e){let t=Math.max(1,...e),n=e.map((e,n)=>`${n},${1-e/t}`).join(` `);return _`<figure class="trend">
    <svg viewBox="0 -0.05 ${Math.max(1,e.length-1)} 1.1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${n} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
    <figcaption class="quiet">${O(e[0]??0)} → ${O(e.at(-1)??0)}</figcaption>
  </figure>`}function Mr(e,t,n=``){if(JSON.stringify(e)===JSON.stringify(t))return[];let[r,i]=[Nr(e),Nr(t)];if(!r||!i)return[{path:n,before:Fr(e),after:Fr(t)}];let a=[...new Set([...r.keys(),...i.keys()])].flatMap(e=>Mr(r.get(e),i.get(e),e.startsWith(`[`)||!n?n+e:`${n}.${e}`));return a.length?a:[{path:`${n} (order)`,before:[...r.keys()].join(` `),after:[...i.keys()].join(` `)}]}function Nr(e){return Array.isArray(e)?new Map(e.map((e,t)=>[`[${Pr(e)??t}]`,e])):typeof e==`object`&&e?new Map(Object.entries(e)):void 0}function Pr(e){if(typeof e!=`object`||!e)return;let{name:t,schedulerName:n}=e;return t??n}function Fr(e){return e===void 0?void 0:JSON.stringify(e)}var Ir=class extends S{constructor(...e){super(...e),this.query=new URLSearchParams,this.compared=new W(this,e=>Lr(this.query,e),{key:()=>this.query.toString()}),this.profiles=new W(this,e=>U(`PluginService/ListProfiles`,{},e),{every:15e3}),this.plugins=new W(this,Br)}static{this.styles=[E,o`
      .scroll {
        overflow-x: auto;
      }
      table {
        border-collapse: collapse;
        font-size: 0.8125rem;
      }
      th {
        text-align: start;
        font-weight: inherit;
        white-space: nowrap;
      }
      thead th {
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s3);
        border-bottom: 1px solid var(--line);
      }
      td,
      thead th:nth-child(n + 2) {
        text-align: center;
        white-space: nowrap;
      }
      tbody th {
        position: sticky;
        left: 0;
        background: var(--raised);
      }
      .list td,
      .list thead th:nth-child(n + 2) {
        text-align: start;
      }
      .periods {
        padding-inline-start: var(--s4);
      }
      .weight {
        font-weight: 600;
      }
    `]}render(){return _`<div class="stack">
      <div class="row between">
        <h1>Profiles</h1>
        <mooring-copy
          .copies=${Y(`mooring config show --resolved`,`PluginService/ListProfiles`,{},this.profiles.value??{})}
        ></mooring-copy>
      </div>
      ${this.profiles.show(({profiles:e=[],configurationHash:t=``,configurations:n=[]})=>_`<p class="quiet">Configuration <span class="mono">${t}</span></p>
            ${this.query.get(`from`)?this.comparison():y}
            ${n.length>1?zr(n):y} ${e.map(Hr)}`)}
      <section class="card stack tight" aria-labelledby="plugins">
        <h2 id="plugins">All plugins that the process knows</h2>
        ${this.plugins.show(e=>Ur(e))}
      </section>
    </div>`}comparison(){let[e,t]=[this.query.get(`from`)??``,this.query.get(`to`)??``];return _`<section class="card stack tight" aria-labelledby="compared">
      <div class="row between">
        <h2 id="compared">From <span class="mono">${e.slice(0,8)}</span> to ${t?_`<span class="mono">${t.slice(0,8)}</span>`:`now`}</h2>
        <a href=${V([`profiles`])}>Close</a>
      </div>
      ${this.compared.show(e=>e?.length?Vr(e):_`<p class="good">✓ Nothing differs.</p>`)}
    </section>`}};D([w({attribute:!1})],Ir.prototype,`query`,void 0),Ir=D([C(`mooring-profiles`)],Ir);async function Lr(e,t){let[n,r]=[e.get(`from`),e.get(`to`)??``];if(!n)return;let[i,a]=await Promise.all([Rr(n,t),Rr(r,t)]);return Mr(i,a)}async function Rr(e,t){let{profiles:n=[]}=await U(`PluginService/ListProfiles`,{configurationHash:e},t);return Object.fromEntries(n.map(({name:e=``,configurationJson:t=`{}`})=>[e,JSON.parse(t)]))}function zr(e){return _`<section class="card stack tight" aria-labelledby="periods">
    <h2 id="periods">Since the start</h2>
    <ol class="periods">
      ${e.map(({hash:t=``,beginTime:n},r)=>{let i=e[r-1]?.hash;return _`<li>
          <span class="mono">${t.slice(0,8)}</span> ${j(n)} ago
          ${i&&i!==t?_`<a href=${V([`profiles`],{from:i,to:t})}>what it changed</a>`:y}
        </li>`})}
    </ol>
  </section>`}async function Br(e){return(await U(`PluginService/ListPlugins`,{},e)).plugins??[]}function Vr(e){return _`<div class="scroll" tabindex="0" role="group" aria-label="Differences">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({path:e,before:t,after:n})=>_`<tr>
              <th scope="row">${e}</th>
              <td class="mono">${t??_`<span class="quiet">absent</span>`}</td>
              <td class="mono">${n??_`<span class="quiet">absent</span>`}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function Hr({name:e=``,extensionPoints:t=[],weightSum:n=`0`,unsupportedPlugins:r=[]}){let i=t.map(({extensionPoint:e,plugins:t=[]})=>({point:Dn(e??``),plugins:t})),a=[...new Set(i.flatMap(({plugins:e})=>e.map(e=>e.name??``)))];return _`<section class="card stack tight" aria-label="Profile ${e}">
    <div class="row between">
      <h2>${e}</h2>
      <p class="quiet">Numbers are the order of calls; a total is at most ${O(100*Number(n))}</p>
    </div>
    ${r.length?_`<p class="warn">⚠ Not evaluated: ${r.join(`, `)}</p>`:y}
    <div class="scroll" tabindex="0" role="group" aria-label="Plugins of ${e} by extension point">
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            ${i.map(({point:e})=>_`<th scope="col">${e}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${a.map(e=>_`<tr>
                <th scope="row"><a href=${V([`plugins`,e])}>${e}</a></th>
                ${i.map(({plugins:t})=>{let n=t.findIndex(t=>t.name===e),r=Number(t[n]?.weight??0);return _`<td>${n<0?y:n+1}${r?_` <span class="weight">× ${r}</span>`:y}</td>`})}
              </tr>`)}
        </tbody>
      </table>
    </div>
  </section>`}function Ur(e){return _`<div class="scroll" tabindex="0" role="group" aria-label="All plugins">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Plugin</th>
          <th scope="col">State</th>
          <th scope="col">From</th>
          <th scope="col">In profiles</th>
          <th scope="col">Extension points</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({name:e=``,state:t,source:n,profiles:r=[],extensionPoints:i=[]})=>_`<tr>
              <th scope="row"><a href=${V([`plugins`,e])}>${e}</a></th>
              <td>${Wr(t)}</td>
              <td>${n}</td>
              <td>${r.join(`, `)||_`<span class="quiet">none</span>`}</td>
              <td>${i.map(Dn).join(`, `)}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function Wr(e){let t=G(e,`PLUGIN_STATE_`);return t===`available`?_`<span class="good">✓ ${t}</span>`:_`<span class=${t===`failed`?`bad`:`warn`}>${t===`failed`?`✕`:`⚠`} ${t}</span>`}var Gr=class extends S{constructor(...e){super(...e),this.name=``,this.info=new W(this,async e=>(await Br(e)).find(({name:e})=>e===this.name),{key:()=>this.name}),this.profiles=new W(this,async e=>(await U(`PluginService/ListProfiles`,{},e)).profiles??[]),this.rejections=new W(this,e=>this.listRejections(e),{key:()=>this.name})}static{this.styles=[E]}render(){return _`<div class="stack">
      <h1>${this.name}</h1>
      ${this.info.show(e=>e?Kr(e):_`<p class="failure" role="alert">The process knows no such plugin.</p>`)}
      ${this.profiles.show(e=>e.map(e=>this.configured(e)))}
      <section class="stack tight" aria-labelledby="rejections">
        <h2 id="rejections">Decisions in which it rejected something</h2>
        ${this.rejections.show(e=>$n(`Decisions in which the plugin rejected something, the newest first`,e))}
      </section>
    </div>`}configured({name:e,extensionPoints:t=[],configurationJson:n=`{}`}){let r=t.filter(({plugins:e=[]})=>e.some(({name:e})=>e===this.name));if(!r.length)return y;let i=r.flatMap(({plugins:e=[]})=>e.filter(({name:e})=>e===this.name)).find(e=>e.weight)?.weight,{pluginConfig:a=[]}=JSON.parse(n),o=a.find(({name:e})=>e===this.name)?.args;return _`<section class="card stack tight" aria-label="In profile ${e}">
      <h2>In profile ${e}</h2>
      <dl class="facts">
        <div><dt>Extension points</dt><dd>${r.map(({extensionPoint:e})=>Dn(e??``)).join(`, `)}</dd></div>
        ${i?_`<div><dt>Weight</dt><dd>${i}</dd></div>`:y}
      </dl>
      ${o?_`<pre tabindex="0" aria-label="Arguments">${JSON.stringify(o,void 0,2)}</pre>`:_`<p class="quiet">No arguments.</p>`}
    </section>`}async listRejections(e){return((await U(`DecisionService/ListDecisions`,{filter:{rejectingPlugin:this.name},limit:100},e)).decisions??[]).reverse()}};D([w()],Gr.prototype,`name`,void 0),Gr=D([C(`mooring-plugin`)],Gr);function Kr({state:e,source:t,profiles:n=[],loadError:r}){return _`<dl class="facts">
      <div><dt>State</dt><dd>${Wr(e)}</dd></div>
      <div><dt>From</dt><dd>${t}</dd></div>
      <div><dt>In profiles</dt><dd>${n.join(`, `)||`none`}</dd></div>
    </dl>
    ${r?_`<pre tabindex="0">${r}</pre>`:y}`}var Q=class extends S{constructor(...e){super(...e),this.session=``,this.asked=!1,this.asking=!1}static{this.styles=[E,o`
      ol {
        list-style: none;
      }
      ol > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
      ul {
        padding-inline-start: var(--s4);
      }
    `]}updated(e){e.has(`pod`)&&this.asked&&this.ask()}render(){return _`<section class="card stack tight" aria-labelledby="changes">
      <div class="row between">
        <h2 id="changes">${this.group?`What would make its group fit?`:`What would make it fit?`}</h2>
        <button ?disabled=${this.asking||!this.pod} @click=${()=>void this.ask()}>Find the fewest changes</button>
      </div>
      <div role="status" class="quiet">${this.asking?`Trying on a copy of the cluster …`:y}</div>
      ${this.error?En(this.error,()=>void this.ask()):y} ${this.found?qr(this.found):y}
    </section>`}async ask(){[this.asking,this.error,this.found]=[!0,void 0,void 0];try{this.found=await this.askGroup()??{response:await U(`SimulationService/SuggestChanges`,{session:this.session,pod:this.pod})}}catch(e){this.error=e}this.asking=!1}async askGroup(){let{session:e,group:t}=this;if(t)try{return{group:t,response:await U(`SimulationService/SuggestChanges`,{session:e,group:t})}}catch(e){if(e instanceof hn&&e.reason===`GROUPS_OFF`)return;throw e}}};D([w({attribute:!1})],Q.prototype,`pod`,void 0),D([w({attribute:!1})],Q.prototype,`group`,void 0),D([w()],Q.prototype,`session`,void 0),D([w({type:Boolean})],Q.prototype,`asked`,void 0),D([T()],Q.prototype,`found`,void 0),D([T()],Q.prototype,`asking`,void 0),D([T()],Q.prototype,`error`,void 0),Q=D([C(`mooring-changes`)],Q);function qr({group:e,response:t}){return _`${e?_`<p class="quiet">Of pod group ${e.namespace}/${e.name}, with all its pods as the cluster has them:</p>`:y}${Jr(t,e?`each pod`:`the pod`)}`}function Jr(e,t){let{verdict:n,options:r=[],complete:i=!1}=e;if(n?.code===`VERDICT_CODE_SUCCESS`)return _`<p class="good">✓ It fits as it is.</p>`;let a=Yr(e);if(!r.length)return _`${a}<p>No set of changes was found with which it fits.</p>`;let o=i?y:_`<p class="quiet">The cluster is large: not everything was tried that might be less.</p>`;return _`${a}
    <ol>
      ${r.map(e=>_`<li>
            <p>${k(e.steps?.length??0,`change`)}, then ${Xr(e)}:</p>
            <ul>
              ${e.steps?.map(e=>_`<li>${Zr(e,t)}</li>`)}
            </ul>
          </li>`)}
    </ol>
    ${o}`}function Yr({preemptionNode:e=``,candidates:t=[]}){let n=t.find(({node:t})=>t===e);if(!n)return _``;let r=(n.victims??[]).map(({reference:e})=>K(e)),i=n.violatedBudgets??[];return _`<p>
    It runs on ${e} once ${r.slice(0,3).join(`, `)}${r.length>3?` and ${r.length-3} more`:``}
    ${r.length===1?`is`:`are`} preempted.${i.length?` This violates ${i.join(`, `)}.`:y}
  </p>`}function Xr({node:e,landings:t=[]}){let n=e=>_`<a href=${V([`nodes`,e])}>${e}</a>`;if(e)return _`${n(e)} takes it`;let r=new Map;for(let e of t)r.set(e.node??``,(r.get(e.node??``)??0)+1);return _`it has ${[...r].map(([e,t],r)=>_`${r?`, `:y}${k(t,`pod`)} on ${n(e)}`)}`}function Zr({toleration:e,label:t,request:n,move:r,node:i},a){if(e)return`${a} tolerates ${e.key??``}${e.value?`=${e.value}`:``}:${e.effect??``}`;if(t)return t.value===void 0?`${t.node} loses the label ${t.key}`:`${t.node} gets the label ${t.key}=${t.value}`;if(n){let[e,t]=[n.before,n.after].map(e=>A(n.resource??``,Number(e??0)));return`${a} requests ${t} ${n.resource} instead of ${e}`}return r?`${K(r.pod)} goes to ${r.node}`:`there is one more node like ${i?.like??``}`}var Qr=`QUEUE_PLACE_`,$r={in_flight:`being tried right now`,active:`tried when their turn comes`,backoff:`held back for a while after a failure`,unschedulable:`wait for a change that may help`,gated:`not let in by a PreEnqueue plugin`},ei=class extends S{constructor(...e){super(...e),this.query=new URLSearchParams,this.queue=new W(this,e=>U(`DecisionService/ListQueue`,{},e),{every:2e3})}static{this.styles=[E,o`
      .places {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--s3);
      }
      .place {
        display: grid;
        text-align: start;
        white-space: normal;
        padding: var(--s3) var(--s4);
        align-content: start;
        border-radius: calc(2 * var(--radius));
      }
      .place[aria-pressed="true"] {
        background: var(--tint);
        color: inherit;
        border-color: var(--accent);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
      }
      mooring-grid {
        --grid-height: calc(100vh - 20rem);
      }
    `]}render(){return _`<div class="stack">
      <div class="row between">
        <h1>Queue</h1>
        <mooring-copy
          .copies=${Y(`mooring why-pending`,`DecisionService/ListQueue`,{},this.queue.value??{}).slice(1)}
        ></mooring-copy>
      </div>
      ${this.queue.show(e=>this.places(e))}
    </div>`}places({pods:e=[],counts:t=[]}){let n=this.query.get(`place`)??``,r=e=>t.find(t=>t.place===Qr+e.toUpperCase())?.podCount??0,i=n?e.filter(({place:e})=>e===Qr+n.toUpperCase()):e;return _`<div class="places" role="group" aria-label="Places">
        ${Object.entries($r).map(([e,t])=>_`<button class="place" aria-pressed=${n===e} @click=${()=>H({place:n===e?``:e})}>
              <span>${G(e,``)}</span><span class="count">${O(r(e))}</span><span class="quiet">${t}</span>
            </button>`)}
      </div>
      <mooring-grid
        label="Pods in the queue, in the order in which they are tried or have waited"
        .columns=${ni}
        .rows=${i}
        .keyOf=${e=>K(e.pod)}
        empty="No pod waits here."
        @mooring-open=${e=>location.hash=Z(e.detail.pod)}
      ></mooring-grid>`}};D([w({attribute:!1})],ei.prototype,`query`,void 0),ei=D([C(`mooring-queue`)],ei);function ti(e){return(e.wakes??[]).map(({plugin:e,events:t=[]})=>`${e} on ${t.join(`, `)}`).join(`; `)}var ni=[{id:`pod`,title:`Pod`,width:`min(18rem, 45vw)`,cell:({pod:e})=>_`<a tabindex="-1" href=${Z(e)} title=${K(e)}>${K(e)}</a>`},{id:`place`,title:`Place`,width:`8rem`,cell:({place:e})=>G(e,Qr)},{id:`waits`,title:`There for`,width:`6rem`,numeric:!0,cell:({placeTime:e})=>j(e)},{id:`age`,title:`In queue`,width:`6rem`,numeric:!0,cell:({addedTime:e})=>j(e)},{id:`priority`,title:`Priority`,width:`6rem`,numeric:!0,cell:({priority:e=0})=>O(e)},{id:`attempts`,title:`Attempts`,width:`6rem`,numeric:!0,cell:({attempts:e=0})=>O(e)},{id:`wakes`,title:`Would wake it`,width:`minmax(18rem, 1fr)`,cell:e=>_`<span title=${ti(e)}>${ti(e)||_`<span class="quiet">its turn</span>`}</span>`}],ri=class extends S{constructor(...e){super(...e),this.namespace=``,this.name=``,this.key=()=>`${this.namespace}/${this.name}`,this.queued=new W(this,e=>this.findQueued(e),{key:this.key,every:5e3}),this.attempts=new W(this,e=>this.listAttempts(e),{key:this.key,every:5e3}),this.manifest=new W(this,e=>J(`Pod`,this.namespace,this.name,e),{key:this.key}),this.now=new W(this,e=>_n(this.question(),e),{key:this.key})}static{this.styles=[E]}render(){let e=q(this.key()),t=this.question();return _`<div class="stack">
      <div class="row between">
        <h1>${this.key()}</h1>
        <mooring-copy
          .copies=${[...Y(`mooring explain ${e}`,`SchedulingService/Explain`,t,this.attempts.value??[]),{name:`kubectl`,text:`kubectl get pod ${q(this.name)} -n ${q(this.namespace)} -o yaml`}]}
        ></mooring-copy>
      </div>
      ${this.queued.value?this.place(this.queued.value):y}
      <section class="stack tight" aria-labelledby="attempts">
        <h2 id="attempts">Decisions about it</h2>
        ${this.attempts.show(e=>$n(`Decisions about this pod, the newest first`,e))}
      </section>
      <section class="stack tight" aria-labelledby="now">
        <div class="row between">
          <h2 id="now">Where it would go now</h2>
          <span class="row">
            <button @click=${()=>void this.now.run()}>Explain again</button>
            <a href=${V([`what-if`],{pod:this.key()})}>What if …</a>
          </span>
        </div>
        ${this.now.show(e=>_`<mooring-decision .columns=${e} .nodesWith=${xn}></mooring-decision>`)}
      </section>
      ${this.now.value&&this.manifest.value?this.changes(this.manifest.value):y}
      <mooring-manifest .namespace=${this.namespace} .name=${this.name}></mooring-manifest>
    </div>`}changes(e){return $e(this.key(),_`<mooring-changes .pod=${this.question().pod} .group=${Ln(e)}></mooring-changes>`)}place(e){let t=e.readyTime?_`<div><dt>Ready</dt><dd>${new Date(e.readyTime).toLocaleTimeString(`en-GB`)}</dd></div>`:y;return _`<dl class="facts card">
      <div><dt>Waits in</dt><dd>${G(e.place,`QUEUE_PLACE_`)} for ${j(e.placeTime)}</dd></div>
      <div><dt>Priority</dt><dd>${O(e.priority??0)}</dd></div>
      <div><dt>Attempts</dt><dd>${O(e.attempts??0)}</dd></div>
      ${t}
      <div><dt>Would wake it</dt><dd>${ti(e)||`its turn`}</dd></div>
    </dl>`}question(){return{pod:{reference:{namespace:this.namespace,name:this.name}},allRejections:!0}}async findQueued(e){try{let{pods:t=[]}=await U(`DecisionService/ListQueue`,{namespace:this.namespace,limit:1e4},e);return t.find(({pod:e})=>e?.name===this.name)}catch{e.throwIfAborted();return}}async listAttempts(e){return((await U(`DecisionService/ListDecisions`,{filter:{namespace:this.namespace,pod:this.name},limit:100},e)).decisions??[]).reverse()}};D([w()],ri.prototype,`namespace`,void 0),D([w()],ri.prototype,`name`,void 0),ri=D([C(`mooring-pod`)],ri);var ii=`600s`,ai=`kubernetes.io/hostname`,oi=class{constructor(){this.session=``,this.steps=[]}async cordon(e){let t=await J(`Node`,``,e);await this.change(`cordon ${e}`,[si({...t,spec:{...t.spec,unschedulable:!0}})])}async remove(e){await this.change(`remove ${e}`,[{remove:{kind:`Node`,name:e}}])}async addLike(e,t){let n=await J(`Node`,``,e),r=Array.from({length:t},(t,r)=>si(ci(n,`${e}-copy-${this.steps.length+1}-${r+1}`)));await this.change(`add ${t} like ${e}`,r)}async undo(){let e=this.steps.at(-1);e&&(await U(`SimulationService/RevertSession`,{session:this.session,mark:e.mark}),this.steps=this.steps.slice(0,-1))}close(){let{session:e}=this;[this.session,this.steps]=[``,[]],e&&U(`SimulationService/CloseSession`,{session:e}).catch(()=>void 0)}async change(e,t){if(!this.session){let{session:e}=await U(`SimulationService/OpenSession`,{lease:ii});this.session=e?.id??``}let{session:n}=this,{mark:r=0}=await U(`SimulationService/MarkSession`,{session:n});await U(`SimulationService/ChangeSession`,{session:n,changes:t}),this.steps=[...this.steps,{words:e,mark:r}]}};function si(e){return{put:{objects:[zn(e)]}}}function ci(e,t){let n={...e.metadata?.labels,[ai]:t};return{...e,metadata:{...e.metadata,name:t,uid:t,labels:n}}}var li=200,ui=`apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  containers:
  - name: web
    resources:
      requests: {cpu: 500m, memory: 512Mi}
`,$=class extends S{constructor(...e){super(...e),this.query=new URLSearchParams,this.node=``,this.text=ui,this.busy=``,this.count=1,this.sandbox=new oi,this.nodes=new W(this,mi),this.pods=new W(this,hi),this.startOver=()=>{this.sandbox.close(),this.answer=void 0,this.requestUpdate()}}static{this.styles=[E,o`
      textarea {
        width: 100%;
        min-height: 15rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        line-height: 1.5;
        padding: var(--s3);
        resize: vertical;
      }
      .name {
        flex: 1 1 12rem;
      }
      .count {
        width: 4.5rem;
      }
      .steps {
        padding-inline-start: var(--s5);
      }
      .landings {
        list-style: none;
      }
      .landings li {
        border-top: 1px solid var(--line);
        padding: var(--s1) 0;
        overflow-wrap: anywhere;
      }
      label {
        display: contents;
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.sandbox.close()}willUpdate(e){if(!e.has(`query`))return;let[t,n]=[this.query.get(`pod`),this.query.get(`node`)];n&&(this.node=n),t?this.attempt(`Reading the pod`,async()=>void await this.takePod(t)):n&&this.askRemoval()}render(){return _`<div class="stack">
      <div>
        <h1>What if</h1>
        <p class="quiet">Asked of a copy of the cluster: nothing real changes.</p>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="cluster">
          <h2 id="cluster">… the cluster were different</h2>
          ${this.changing()}
        </section>
        <section class="card stack tight" aria-labelledby="pod">
          <h2 id="pod">… there were such a pod</h2>
          ${this.asking()}
        </section>
      </div>
      <div role="status" class="quiet">${this.busy&&`${this.busy} …`}</div>
      ${this.error?En(this.error,()=>this.error=void 0,`Dismiss`):y} ${this.answer?this.shown(this.answer):y}
    </div>`}changing(){let{sandbox:e,node:t}=this,n=(this.nodes.value??[]).filter(e=>e.includes(t)).slice(0,li),r=(e,t)=>()=>void this.attempt(e,t);return _`<div class="row">
        <input
          class="name"
          list="nodes"
          aria-label="Node"
          placeholder="Node"
          autocomplete="off"
          spellcheck="false"
          .value=${t}
          @input=${e=>this.node=e.target.value.trim()}
        />
        <datalist id="nodes">${n.map(e=>_`<option value=${e}></option>`)}</datalist>
      </div>
      <div class="row">
        <button ?disabled=${!t} @click=${()=>void this.askRemoval()}>Where would its pods go?</button>
        <button ?disabled=${!t} @click=${r(`Cordoning`,()=>e.cordon(t))}>Cordon</button>
        <button ?disabled=${!t} @click=${r(`Removing`,()=>e.remove(t))}>Remove</button>
        <span class="row">
          <button ?disabled=${!t} @click=${r(`Adding`,()=>e.addLike(t,this.count))}>Add</button>
          <input
            class="count"
            type="number"
            min="1"
            max="1000"
            aria-label="How many nodes to add"
            .valueAsNumber=${this.count}
            @input=${e=>this.count=e.target.valueAsNumber||1}
          />
          <span>like it</span>
        </span>
      </div>
      ${e.steps.length?this.steps():_`<p class="quiet">As it is now: nothing is changed.</p>`}`}steps(){return _`<ol class="steps">
        ${this.sandbox.steps.map(({words:e})=>_`<li>${e}</li>`)}
      </ol>
      <div class="row">
        <button @click=${()=>void this.attempt(`Taking back`,()=>this.sandbox.undo())}>Take the last back</button>
        <button @click=${this.startOver}>Start over</button>
      </div>`}asking(){return _`<label
        ><span class="hidden">A pending pod</span
        ><select @change=${e=>void this.attempt(`Reading the pod`,()=>this.takePod(e.target.value))}>
          <option value="">Take a pending pod, or paste a manifest below</option>
          ${(this.pods.value??[]).map(e=>_`<option value=${e}>${e}</option>`)}
        </select></label
      >
      <textarea
        aria-label="Manifest of a pod or workload, YAML or JSON"
        spellcheck="false"
        autocomplete="off"
        .value=${this.text}
        @input=${e=>this.text=e.target.value}
      ></textarea>
      <div class="row">
        <button class="primary" @click=${()=>void this.askPlace()}>Where would it go?</button>
        <button @click=${()=>void this.askCapacity()}>How many would fit?</button>
        <button @click=${()=>void this.askChanges()}>What would make it fit?</button>
      </div>`}shown(e){return e.kind===`explanation`?_`<mooring-decision .columns=${e.columns}></mooring-decision>`:e.kind===`changes`?_`<mooring-changes .pod=${e.pod} .group=${e.group} .session=${this.sandbox.session} asked></mooring-changes>`:e.kind===`capacity`?di(e.found):_`<div class="stack">${(e.found.nodes??[]).map(pi)} ${fi(e.found)}</div>`}async takePod(e){let[t=``,n=``]=e.split(`/`);n&&(this.text=await Rn(await J(`Pod`,t,n)))}askPlace(){return this.attempt(`Placing`,async()=>{let e=await _n({pod:await this.pod(),allRejections:!0,session:this.sandbox.session});this.answer={kind:`explanation`,columns:e}})}askCapacity(){return this.attempt(`Counting`,async()=>{let e=[await this.pod()];this.answer={kind:`capacity`,found:await U(`SimulationService/EstimateCapacity`,{session:this.sandbox.session,shapes:e,includeNodes:!0})}})}askChanges(){return this.attempt(`Reading the pod`,async()=>{let e=await In(this.text);this.answer={kind:`changes`,pod:{object:zn(e)},group:Ln(e)}})}askRemoval(){return this.attempt(`Placing its pods`,async()=>{let e=await U(`SimulationService/PlanRemoval`,{session:this.sandbox.session,nodes:[this.node]});this.answer={kind:`removal`,found:e}})}async pod(){return{object:zn(await In(this.text))}}async attempt(e,t){if(!this.busy){[this.busy,this.error]=[e,void 0];try{await t()}catch(e){this.error=e}this.busy=``}}};D([w({attribute:!1})],$.prototype,`query`,void 0),D([T()],$.prototype,`node`,void 0),D([T()],$.prototype,`text`,void 0),D([T()],$.prototype,`busy`,void 0),D([T()],$.prototype,`answer`,void 0),D([T()],$.prototype,`error`,void 0),D([T()],$.prototype,`count`,void 0),$=D([C(`mooring-what-if`)],$);function di(e){let[t]=e.shapes??[];if(!t)return _``;let{count:n=0,limited:r=!1,end:i,nodes:a=[]}=t,o=[...a].sort((e,t)=>(t.count??0)-(e.count??0)).slice(0,20);return _`<section class="card stack tight" aria-labelledby="room">
    <h2 id="room">${r?`At least `:``}${k(n,`more pod`)} would fit</h2>
    ${i?.message?_`<p>Then: ${i.message}</p>`:y}
    ${o.length?_`<p class="quiet">Most on ${o.map(e=>`${e.node} (${O(e.count??0)})`).join(`, `)}</p>`:y} ${fi(e)}
  </section>`}function fi({placedCount:e=0,unplaced:t=[],preempted:n=[]}){if(!e&&!t.length)return _``;let r=n.length?` They preempt ${n.slice(0,3).map(K).join(`, `)}${n.length>3?`, …`:``}.`:``;return _`<p class="quiet">Pending pods come first: ${e} placed, ${t.length} still pending.${r}</p>`}function pi({node:e,removable:t,landings:n=[],endingPodCount:r=0,alone:i=[],exhaustedBudgets:a=[]}){let o=n.filter(({waits:e})=>e).length;return _`<section class="card stack tight" aria-label="If ${e} goes">
    <h2>If ${e} goes</h2>
    <p>
      ${t?_`<span class="good">✓ It can go:</span> ${n.length?`each of its pods finds another node.`:`no pod has to move.`}`:o?_`<span class="bad">✕ ${k(o,`pod`)} would wait</span> until the Node object is deleted.`:_`<span class="bad">✕ It can't go:</span> not every pod finds another node.`}
      ${r?_`<span class="quiet">${k(r,`pod`)} of DaemonSets would end with it.</span>`:y}
    </p>
    ${a.map(e=>_`<p class="bad">PodDisruptionBudget ${e} allows no disruption now.</p>`)}
    ${i.length?_`<p class="quiet">Single replicas: ${i.map(K).join(`, `)}</p>`:y}
    <ul class="landings">
      ${n.map(({pod:e,node:t,verdict:n,waits:r})=>_`<li>
            <a href=${Z(e)}>${K(e)}</a>
            ${t?_`→ <a href=${V([`nodes`,t])}>${t}</a>${r?`, once the Node object is deleted`:y}`:_`<span class="bad">✕ ${n?.message||(n?.reasons??[]).join(`, `)}</span>`}
          </li>`)}
    </ul>
  </section>`}async function mi(e){return(await U(`ClusterService/ListNodes`,{},e)).nodes?.names?.names??[]}async function hi(e){return((await U(`ClusterService/ListPendingPods`,{},e)).pods??[]).map(({pod:e})=>K(e)).slice(0,li)}var gi={"":{title:`Overview`,render:()=>_`<mooring-overview></mooring-overview>`},decisions:{title:`Decisions`,render:vi},pods:{title:`Pods`,render:yi},nodes:{title:`Nodes`,render:bi},queue:{title:`Queue`,render:({query:e})=>_`<mooring-queue .query=${e}></mooring-queue>`},profiles:{title:`Profiles`,render:({query:e})=>_`<mooring-profiles .query=${e}></mooring-profiles>`},"what-if":{title:`What if`,render:({query:e})=>_`<mooring-what-if .query=${e}></mooring-what-if>`},plugins:{title:``,render:({path:[,e=``]})=>_`<mooring-plugin .name=${e}></mooring-plugin>`}},_i=class extends S{constructor(...e){super(...e),this.route=pn(location.hash),this.processes=new W(this,vn,{every:15e3}),this.onHash=()=>{this.route=pn(location.hash)}}static{this.styles=[et,E,o`
      :host {
        min-height: 100vh;
      }
      header {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--s5);
        padding: 0 var(--s5);
      }
      .brand {
        font-weight: 650;
        font-size: 1rem;
        letter-spacing: -0.01em;
        color: inherit;
        text-decoration: none;
        padding: var(--s3) 0;
      }
      nav {
        flex: 1 1 auto;
        min-width: 0;
        overflow-x: auto;
        scrollbar-width: none;
      }
      nav ul {
        display: flex;
        list-style: none;
        gap: var(--s1);
      }
      nav a {
        display: block;
        white-space: nowrap;
        padding: var(--s3) var(--s2);
        color: var(--quiet);
        text-decoration: none;
        border-bottom: 2px solid transparent;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        color: var(--text);
        border-color: var(--accent);
      }
      nav a:focus-visible {
        outline-offset: -2px;
      }
      main {
        max-width: 110rem;
        margin: 0 auto;
        padding: var(--s5);
      }
      main:focus {
        outline: none;
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      @media (max-width: 40rem) {
        header {
          padding: 0 var(--s4);
        }
        nav {
          order: 3;
          flex-basis: 100%;
        }
        .process {
          margin-inline-start: auto;
        }
        main {
          padding: var(--s4);
        }
      }
    `]}connectedCallback(){super.connectedCallback(),addEventListener(`hashchange`,this.onHash)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`hashchange`,this.onHash)}updated(e){if(!e.has(`route`))return;let t=this.renderRoot.querySelector(`nav`),n=t?.querySelector(`[aria-current]`);t&&n&&(t.scrollLeft=n.offsetLeft-t.offsetLeft-(t.clientWidth-n.offsetWidth)/2)}render(){let[e=``]=this.route.path,t=gi[e];return document.title=[...this.route.path.slice().reverse(),`mooring`].join(` · `),_`<button class="skip" @click=${()=>this.renderRoot.querySelector(`main`)?.focus()}>Skip to the content</button>
      <header>
        <a class="brand" href=${V([])}>mooring</a>
        <nav aria-label="Views">
          <ul>
            ${Object.entries(gi).filter(([,{title:e}])=>e).map(([t,{title:n}])=>_`<li><a href=${V(t?[t]:[])} aria-current=${t===e?`page`:y}>${n}</a></li>`)}
          </ul>
        </nav>
        <div class="process">${this.picker()}</div>
      </header>
      <main tabindex="-1">
        ${t?$e(this.route.query.get(`process`),t.render(this.route)):_`<h1>There is no such view</h1><p><a href=${V([])}>To the overview</a></p>`}
      </main>`}picker(){let{value:e=[],error:t}=this.processes;if(t)return _`<span class="bad" role="alert">✕ mooring web does not answer</span>`;let n=e.find(e=>e.name===this.route.query.get(`process`))??e[0];if(!n)return y;let r=n.state===`ok`?y:_`<span class="bad" role="alert" title=${n.message??``}>✕ unreachable</span>`;return e.length===1?_`${r} <span class="quiet" title=${n.address}>${n.name}</span>`:_`${r}
      <select aria-label="Process" @change=${e=>H({process:e.target.value})}>
        ${e.map(e=>_`<option value=${e.name} ?selected=${e===n}>${e.name}</option>`)}
      </select>`}};D([T()],_i.prototype,`route`,void 0),_i=D([C(`mooring-page`)],_i);function vi({path:[,e],query:t}){return e?_`<mooring-decision-view .seq=${e}></mooring-decision-view>`:_`<mooring-decisions .query=${t}></mooring-decisions>`}function yi({path:[,e,t],query:n}){return e&&t?_`<mooring-pod .namespace=${e} .name=${t}></mooring-pod>`:_`<mooring-pods .query=${n}></mooring-pods>`}function bi({path:[,e],query:t}){return e?_`<mooring-node .name=${e}></mooring-node>`:_`<mooring-nodes .query=${t}></mooring-nodes>`}